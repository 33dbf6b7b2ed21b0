"""Tests the common parts of taggers and classifiers: inputs and final reports."""

import argparse
import types

import numpy as np

from tests import known_models
from tests.tiny_run import make_run
from tfreps.cli import labelling
from tfreps.cli.options import default_values
from training.train_classifier import PROGRAM

SENTENCES = [["the", "dog"], ["a", "cat"]]


def options(**given):
    return argparse.Namespace(**{**default_values(PROGRAM.options), "train": ["t"], **given})


def test_what_an_encoder_reads(tmp_path, capsys):
    (tmp_path / "vectors.txt").write_text("the 1 2\ndog 3 4\n")
    given = options(vectors=str(tmp_path / "vectors.txt"), elmo=make_run(tmp_path / "run")[0])
    inputs = labelling.read_inputs(given, SENTENCES, 3)
    assert inputs.num_classes == 3 and inputs.bert is None and inputs.stored == (0, 0)
    rows = dict(zip(inputs.indexer.vocabulary.tokens, inputs.vectors.matrix, strict=True))
    assert len(rows) == 7
    np.testing.assert_array_equal([rows["dog"], rows["the"]], [[3, 4], [1, 2]])
    assert inputs.elmo.bilm.max_characters == inputs.indexer.max_characters
    assert "Word vectors: 2 of 7 words have a vector in" in capsys.readouterr().out


def test_the_end_of_a_run(tmp_path, monkeypatch, capsys):
    run, drawn = known_models.tagger_run(tmp_path / "run"), []
    run.write_results({"training": {"tokens": 9}})
    draw = types.SimpleNamespace(draw_run=lambda *given: drawn.append(given) or ["No pictures."])
    monkeypatch.setattr(labelling, "plots", draw)
    measured = {"dev": {"sentences": 1, "accuracy": 0.5, "confusion": [[1]]}}
    labelling.finish(run, "the model", {"f1": 0.25, "step": 3}, measured, "tag")
    best = {"f1": 0.25, "step": 3}
    assert run.results() == {"training": {"tokens": 9}, "best": best, **measured}
    assert drawn == [(run, "the model", [[1]])]
    out = capsys.readouterr().out
    assert (
        out.startswith("No pictures.\n\ndev: accuracy 0.5000")
        and f"Next: tfreps tag {run.path} FILE" in out
    )


def test_results_of_taggers_and_of_classifiers(tmp_path, monkeypatch, capsys):
    run = known_models.tagger_run(tmp_path / "run")
    monkeypatch.setattr(labelling, "plots", types.SimpleNamespace(draw_run=lambda *_: []))
    scores = {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "support": 4}
    report = {"labels": {"X": scores}, "micro": scores, "macro": scores, "weighted": scores}
    measured = {
        "dev": {"sentences": 3, "accuracy": 0.5},
        "test": {"texts": 3, "accuracy": 0.75, "auc": 0.625, **report},
    }
    labelling.finish(run, "the model", {}, measured, "classify")
    parts = capsys.readouterr().out.split("\n\n")
    assert parts[0] == "\ndev: accuracy 0.5000"
    assert parts[1].startswith("test: accuracy 0.7500, AUC 0.6250\n") and "0.6667" in parts[1]
