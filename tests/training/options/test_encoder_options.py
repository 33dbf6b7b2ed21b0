"""Tests that choices, help, checks and construction of encoders come from one table."""

import argparse

import pytest

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.option_rules import check_rules
from tfreps._src.cli.options import Option, default_values
from tfreps._src.models.classifier import POOLINGS
from tfreps.training import train_tagger
from tfreps.training.options import encoder_options
from tfreps.training.options.encoder_options import (
    CLASSIFIER,
    ENCODERS,
    HEADS,
    TAGGER,
    EncoderKind,
    encoder_table,
    labeling_groups,
    set_defaults,
    with_readers,
)
from tfreps.training.train_classifier import COMMAND, HEAD

OUTPUT = Group("output", "Output layer.", {})
NAMES = "epochs", "dropout", "learning_rate", "bert_learning_rate", "schedule", "patience"


def program(head):
    return Command("train", "Trains.", {}, labeling_groups(head, {}, OUTPUT))


def check(**given):
    options = {**default_values(COMMAND.options), "train": ["t"], **given}
    check_rules(argparse.Namespace(**options), COMMAND.options)


def test_a_new_encoder_is_one_row(monkeypatch):
    """The row adds a choice, a line in the help, and checks of its options."""
    row = Option(int, 3, "Stones of the mosaic.", at_least=1)
    kind = EncoderKind(
        {**encoder_options.UNITS, "num_stones": row}, "small stones", heads=(TAGGER,)
    )
    monkeypatch.setitem(ENCODERS, "mosaic", kind)
    trains = program(TAGGER)
    shown = " ".join(trains.help_text(True).split())
    assert "mosaic: small stones" in shown and "Stones of the mosaic (default: 3)." in shown
    words = ["--run", "r", "--encoder", "mosaic", "--num-stones", "9", "--units", "5"]
    parsed = trains.parse(words)
    assert (parsed.num_stones, parsed.units) == (9, 5)
    message = "--num-stones has no effect with --encoder bilstm; it applies to mosaic."
    with pytest.raises(ValueError, match=message):
        trains.parse(["--run", "r", "--num-stones", "9"])
    assert "mosaic" not in encoder_table(CLASSIFIER)["encoder"].choices


def test_taggers_are_not_offered_a_cnn():
    offered = encoder_table(TAGGER)
    assert set(encoder_table(CLASSIFIER)) - set(offered) == {"num_filters", "widths", "ngrams"}
    names = ["embeddings", "bilstm", "bigru", "slstm", "transformer", "linear", "bert"]
    assert offered["encoder"].choices == names and list(ENCODERS) != names


def test_a_row_is_in_one_group_of_a_program():
    for head in HEADS:
        groups = labeling_groups(head, {}, OUTPUT)
        names = [name for group in groups for name in group.options]
        assert len(names) == len(set(names))
        assert [group.title for group in groups] == [
            *("data", "encoder", "words", "output", "training", "optimizer", "run")
        ]
    both = {**train_tagger.COMMAND.options, **COMMAND.options}
    assert {*encoder_options.KEYS} <= {*both}
    rows = {"seed": Option(int, 0, "(0)")}
    assert with_readers(rows, TAGGER) == rows


def test_encoders_that_share_an_option_share_its_row():
    rows = {}
    for kind in ENCODERS.values():
        for name, row in kind.options.items():
            assert rows.setdefault(name, row) is row, name


def test_poolings_are_those_of_the_classifier():
    assert HEAD["pooling"].choices == list(POOLINGS)


@pytest.mark.parametrize(
    "given, message",
    [
        (
            {"encoder": "cnn", "units": 9},
            "--units has no effect with --encoder cnn; it applies to bilstm, bigru and slstm.",
        ),
        (
            {"encoder": "bert", "bert": "b", "num_filters": 5},
            "--set num_filters has no effect with --encoder bert; it applies to cnn.",
        ),
        ({"encoder": "slstm", "num_layers": 2}, "--num-layers has no effect with --encoder slstm"),
        ({"encoder": "linear", "embedding_dim": 9}, "--embedding-dim has no effect with --enc"),
        ({"encoder": "bilstm", "widths": [2]}, "--set widths has no effect with --encoder bilstm"),
        (
            {"encoder": "linear", "linear_features": True},
            "--linear-features cannot be combined with --encoder linear.",
        ),
        ({"encoder": "linear", "ngrams": 2}, "--ngrams cannot be combined with --encoder linear."),
        (
            {"linear_features": True, "ngrams": 2},
            "--ngrams cannot be combined with --linear-features.",
        ),
        (
            {"linear_dropout": 0.1},
            "--set linear_dropout requires --encoder linear, --linear-features or --ngrams.",
        ),
        (
            {"no_words": True},
            "--no-words requires --characters cnn, --elmo, --elmo-weights or --train-vectors.",
        ),
        (
            {"no_words": True, "characters": "cnn", "vectors": "v"},
            "--vectors cannot be combined with --no-words.",
        ),
        ({"trainable_embeddings": False}, "--set trainable_embeddings=false requires --vectors."),
        (
            {"trainable_embeddings": False, "vectors": "v", "embedding_learning_rate": 0.1},
            "embedding_learning_rate cannot be combined with --set trainable_embeddings=false.",
        ),
        ({"linear_learning_rate": 0.1}, "requires --linear-features or --ngrams."),
        ({"linear_dropout": 0.1}, "requires --encoder linear, --linear-features or --ngrams."),
        ({"elmo_fine_tune": True}, "--elmo-fine-tune requires --elmo or --elmo-weights."),
        ({"elmo_top_only": True}, "--set elmo_top_only=true requires --elmo or --elmo-weights."),
        ({"elmo_learning_rate": 0.1}, "--elmo-learning-rate requires --elmo-fine-tune."),
        ({"elmo": "r", "elmo_weights": "w"}, "--elmo cannot be combined with --elmo-weights."),
        ({"elmo_weights": "w"}, "--elmo-weights requires --elmo-config."),
        ({"elmo_config": "o"}, "--elmo-config requires --elmo-weights."),
        ({"train_vectors": "v", "test": ["t"]}, "--train-vectors requires --test-vectors."),
        (
            {"train_vectors": "v", "validation": ["t"]},
            "--train-vectors requires --validation-vectors.",
        ),
        ({"freeze_layers": 1}, "--freeze-layers has no effect with --encoder cnn; it"),
        (
            {"encoder": "bert", "bert": "b", "lora_rank": 8, "freeze_layers": 1},
            "--lora-rank cannot be combined with --freeze-layers.",
        ),
        ({"bert_learning_rate": 0.1}, "--bert-learning-rate requires --bert."),
        ({"test_vectors": "v", "test": ["t"]}, "--test-vectors requires --train-vectors."),
        (
            {"train_vectors": "v", "validation_vectors": "v"},
            "--validation-vectors requires --validation.",
        ),
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
def test_options_without_effect_and_contradictions(given, message):
    with pytest.raises(ValueError, match=message):
        check(**given)


@pytest.mark.parametrize(
    "given",
    [
        *({"encoder": name} for name in ENCODERS if name != "bert"),
        {"encoder": "cnn", "num_filters": 9, "widths": [2]},
        {"encoder": "bert", "bert": "b", "num_layers": 2},
        {"encoder": "bert", "bert": "b", "layer_decay": 0.9, "freeze_layers": 1},
        {"no_words": True, "train_vectors": "v"},
        {"no_words": True, "elmo": "r", "elmo_fine_tune": True, "elmo_top_only": True},
        {"vectors": "v", "trainable_embeddings": False, "characters": "bilstm"},
        {"vectors": "v", "embedding_learning_rate": 0.1},
        {"linear_features": True, "linear_learning_rate": 0.1},
        {"ngrams": 2, "linear_learning_rate": 0.1, "linear_dropout": 0.5},
        {"elmo_config": "o", "elmo_weights": "w"},
        {"train_vectors": "v", "test_vectors": "v", "test": ["t"]},
    ],
)
def test_options_that_agree(given):
    check(**given)


LONG, SHORT = [30, 0.5, 0.001, None, "constant", 5], [0.1, 0.001, 5e-5, "linear", 5]


@pytest.mark.parametrize(
    "given, ngrams",
    [
        ({"encoder": "cnn"}, 2),
        ({"encoder": "cnn", "vectors": "v"}, 2),
        ({"encoder": "cnn", "ngrams": 0}, 0),
        ({"encoder": "cnn", "ngrams": 3}, 3),
        ({"encoder": "cnn", "linear_features": True}, None),
        ({"encoder": "cnn", "no_words": True, "train_vectors": "v"}, None),
        ({"encoder": "slstm"}, None),
    ],
)
def test_the_cnn_has_ngrams_by_default(given, ngrams):
    options = argparse.Namespace(**{**default_values(COMMAND.options), **given})
    set_defaults(options, CLASSIFIER)
    assert options.ngrams == ngrams


# Values of the options in `NAMES`, and of pooling or characters.
@pytest.mark.parametrize(
    "head, given, expected",
    [
        (CLASSIFIER, {}, [*LONG, "pooled_output"]),
        (CLASSIFIER, {"encoder": "bilstm"}, [*LONG, "mean"]),
        (CLASSIFIER, {"encoder": "cnn", "pooling": "max"}, [*LONG, "max"]),
        (CLASSIFIER, {"encoder": "slstm", "epochs": 2}, [2, *LONG[1:], "pooled_output"]),
        (CLASSIFIER, {"encoder": "bert"}, [3, *SHORT, "mean"]),
        (
            CLASSIFIER,
            {"encoder": "bert", "learning_rate": 2e-5},
            [3, 0.1, 2e-5, None, "linear", 5, "mean"],
        ),
        (
            CLASSIFIER,
            {"encoder": "bert", "lora_rank": 8, "schedule": "constant"},
            [3, 0.1, 0.001, None, "constant", 5, "mean"],
        ),
        (
            CLASSIFIER,
            {"encoder": "bert", "decay": 0.9},
            [3, 0.1, 0.001, 5e-5, "constant", 5, "mean"],
        ),
        (
            CLASSIFIER,
            {"encoder": "bert", "bert_from_scratch": True, "dropout": 0.0},
            [30, 0.0, *LONG[2:], "mean"],
        ),
        (TAGGER, {}, [*LONG, "cnn"]),
        (TAGGER, {"tokens": "characters"}, [*LONG, "none"]),
        (TAGGER, {"elmo": "run"}, [*LONG, "none"]),
        (TAGGER, {"elmo": "run", "characters": "bilstm"}, [*LONG, "bilstm"]),
        (TAGGER, {"encoder": "linear"}, [*LONG, None]),
        (TAGGER, {"encoder": "bert"}, [5, *SHORT, None]),
        (TAGGER, {"init": "lac"}, [*LONG[:-1], 15, None]),
        (TAGGER, {"init": "lac", "patience": 3}, [*LONG[:-1], 3, None]),
    ],
)
def test_defaults_that_depend_on_other_options(head, given, expected):
    command = COMMAND if head == CLASSIFIER else train_tagger.COMMAND
    options = argparse.Namespace(**{**default_values(command.options), **given})
    set_defaults(options, head)
    last = options.pooling if head == CLASSIFIER else options.characters
    assert [getattr(options, name) for name in NAMES] + [last] == expected
    again = argparse.Namespace(**vars(options))
    set_defaults(again, head)  # as when a run is resumed
    assert again == options
