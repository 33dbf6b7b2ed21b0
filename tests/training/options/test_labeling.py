"""Tests the steps that train-tagger and train-classifier share: inputs and reports."""

import argparse

import pytest

from tests import known_models
from tfreps._src.cli.options import default_values
from tfreps.training.options import labeling
from tfreps.training.train_classifier import COMMAND

SENTENCES = [["the", "dog"], ["a", "cat"]]

CALIBRATION = {"calibration_error": 0.125, "temperature": 1.0}


def options(**given):
    return argparse.Namespace(**{**default_values(COMMAND.options), "train": ["t"], **given})


def test_the_end_of_a_run(tmp_path, monkeypatch, capsys):
    run, drawn = known_models.tagger_run(tmp_path / "run"), []
    run.write_results({"training": {"tokens": 9}})
    draw = lambda *given: drawn.append(given) or ["No plots."]  # noqa: E731
    monkeypatch.setattr(labeling, "plot_run", draw)
    measured = {"validation": {"sentences": 1, "accuracy": 0.5, "confusion": [[1]], **CALIBRATION}}
    labeling.finish(run, "the model", {"f1": 0.25, "step": 3}, measured, "tag")
    best = {"f1": 0.25, "step": 3}
    assert run.results() == {"training": {"tokens": 9}, "best": best, **measured}
    assert drawn == [(run, "the model", [[1]])]
    out = capsys.readouterr().out
    assert (
        out.startswith("No plots.\n\nvalidation: accuracy 0.5000")
        and f"Next: tfreps tag {run.path} FILE" in out
    )


@pytest.mark.parametrize("drawn", [True, False])
def test_the_end_names_plots_only_if_they_exist(drawn, tmp_path, monkeypatch, capsys):
    run = known_models.tagger_run(tmp_path / "my run")
    if drawn:
        run.plots_path.mkdir()
    monkeypatch.setattr(labeling, "plot_run", lambda *_: [])
    labeling.finish(run, "the model", {}, {}, "tag")
    paths = f", {run.results_path} and {run.plots_path}" if drawn else f" and {run.results_path}"
    out = capsys.readouterr().out
    assert f"Wrote {run.model_path}{paths}.\n" in out
    assert f"tfreps evaluate '{run.path}' --data FILE" in out


def test_results_of_taggers_and_of_classifiers(tmp_path, monkeypatch, capsys):
    run = known_models.tagger_run(tmp_path / "run")
    monkeypatch.setattr(labeling, "plot_run", lambda *_: [])
    scores = {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "support": 4}
    report = {"labels": {"X": scores}, "micro": scores, "macro": scores, "weighted": scores}
    measured = {
        "validation": {"sentences": 3, "accuracy": 0.5, **CALIBRATION},
        "test": {"texts": 3, "accuracy": 0.75, "auc": 0.625, **report, **CALIBRATION},
    }
    labeling.finish(run, "the model", {}, measured, "classify")
    parts = capsys.readouterr().out.split("\n\n")
    error = "expected calibration error: 0.1250"
    assert parts[0] == f"\nvalidation: accuracy 0.5000\n{error}"
    assert parts[1].startswith("test: accuracy 0.7500, AUC 0.6250\n") and "0.6667" in parts[1]
