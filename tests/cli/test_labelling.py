"""Tests the common parts of taggers and classifiers: rules of options, inputs, final reports."""

import argparse
import types

import numpy as np
import pytest

from tests import known_models
from tests.tiny_run import make_run
from tfreps.cli import labelling
from tfreps.cli.encoder_kinds import CLASSIFIER, TAGGER
from tfreps.cli.option_rules import check_rules
from tfreps.cli.options import Option, default_values

PARTS = {name: Option(str, None, "files", many=True) for name in labelling.PARTS}
TABLES = labelling.option_tables(CLASSIFIER, PARTS, {"labels": {}}).values()
SENTENCES = [["the", "dog"], ["a", "cat"]]


def options(**given):
    return argparse.Namespace(**{**default_values(*TABLES), "train": ["t"], **given})


@pytest.mark.parametrize(
    "given, message",
    [
        (
            {"no_words": True},
            "--no-words requires --characters, --elmo, --elmo-weights or --train-vectors.",
        ),
        (
            {"no_words": True, "characters": "cnn", "vectors": "v"},
            "--vectors cannot be combined with --no-words.",
        ),
        ({"trainable_embeddings": False}, "--no-trainable-embeddings requires --vectors."),
        (
            {"trainable_embeddings": False, "vectors": "v", "embedding_learning_rate": 0.1},
            "--embedding-learning-rate cannot be combined with --no-trainable-embeddings.",
        ),
        ({"linear_learning_rate": 0.1}, "requires --linear-features or --ngrams."),
        ({"linear_dropout": 0.1}, "requires --encoder linear, --linear-features or --ngrams."),
        ({"elmo_fine_tune": True}, "--elmo-fine-tune requires --elmo or --elmo-weights."),
        ({"elmo_top_only": True}, "--elmo-top-only requires --elmo or --elmo-weights."),
        ({"elmo_learning_rate": 0.1}, "--elmo-learning-rate requires --elmo-fine-tune."),
        ({"elmo": "r", "elmo_weights": "w"}, "--elmo cannot be combined with --elmo-weights."),
        ({"elmo_weights": "w"}, "--elmo-weights requires --elmo-options."),
        ({"elmo_options": "o"}, "--elmo-options requires --elmo-weights."),
        ({"train_vectors": "v", "test": ["t"]}, "--train-vectors requires --test-vectors."),
        ({"train_vectors": "v", "dev": ["t"]}, "--train-vectors requires --dev-vectors."),
        ({"encoder": "bert"}, "--bert is missing: run folder of 'tfreps pretrain-bert' or"),
        ({"bert": "b"}, "--bert has no effect with --encoder bilstm; it applies to bert."),
        ({"freeze_blocks": 1}, "--freeze-blocks has no effect with --encoder bilstm; it"),
        (
            {"encoder": "bert", "bert": "b", "bert_from_scratch": True, "freeze_blocks": 1},
            "--freeze-blocks cannot be combined with --bert-from-scratch.",
        ),
        ({"layer_decay": 0.9}, "--layer-decay requires --bert."),
        ({"bert_learning_rate": 0.1}, "--bert-learning-rate requires --bert."),
        ({"test_vectors": "v", "test": ["t"]}, "--test-vectors requires --train-vectors."),
        ({"train_vectors": "v", "dev_vectors": "v"}, "--dev-vectors requires --dev."),
        *(
            ({"encoder": "linear", name: value}, "has no effect with --encoder linear; it applies")
            for name, value in {
                **{"characters": "cnn", "max_characters": 9, "vectors": "v", "elmo": "r"},
                **{"no_words": True, "embedding_learning_rate": 0.1, "train_vectors": "v"},
            }.items()
        ),
        *(
            ({"encoder": "bert", "bert": "b", name: value}, "has no effect with --encoder bert; it")
            for name, value in {
                **{"max_characters": 9, "min_count": 2, "vectors": "v", "lowercase": True},
                **{"embedding_learning_rate": 0.1, "digits_to_zero": True, "max_vocabulary": 9},
            }.items()
        ),
    ],
)
def test_options_that_contradict_each_other(given, message):
    with pytest.raises(ValueError, match=message):
        check_rules(options(**given), *TABLES)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"encoder": "linear"},
        {"encoder": "bert", "bert": "b", "layer_decay": 0.9, "freeze_blocks": 1},
        {"no_words": True, "train_vectors": "v"},
        {"no_words": True, "elmo": "r", "elmo_fine_tune": True, "elmo_top_only": True},
        {"vectors": "v", "trainable_embeddings": False, "characters": "bilstm"},
        {"vectors": "v", "embedding_learning_rate": 0.1},
        {"linear_features": True, "linear_learning_rate": 0.1},
        {"ngrams": 2, "linear_learning_rate": 0.1, "linear_dropout": 0.5},
        {"elmo_options": "o", "elmo_weights": "w"},
        {"train_vectors": "v", "test_vectors": "v", "test": ["t"]},
    ],
)
def test_options_that_agree(given):
    check_rules(options(**given), *TABLES)


def test_tables_in_the_order_of_the_help():
    tables = labelling.option_tables(TAGGER, PARTS, {"tags": {}})
    assert list(tables) == ["data", "words", "encoder", "tags", "training"]
    assert list(tables["data"]) == list(labelling.PARTS) and "ngrams" not in tables["encoder"]


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
    labelling.finish(run, "the model", {"f1": 0.25, "step": 3}, measured, asking="tag")
    best = {"f1": 0.25, "step": 3}
    assert run.results() == {"training": {"tokens": 9}, "best": best, **measured}
    assert drawn == [(run, "the model", [[1]])]
    out = capsys.readouterr().out
    assert (
        out.startswith("No pictures.\n\ndev: accuracy 0.5000")
        and f"Next: tfreps tag {run.path} FILE" in out
    )
