"""Tests the rules between options: no effect, missing options, and exclusions."""

import argparse

import pytest

from tfreps._src.cli.option_rules import brought_by, check_rules, unused_options
from tfreps._src.cli.options import Option

TABLE = {
    "encoder": Option(str, "lstm", "Encoder.", ["lstm", "gru", "cnn", "bert"]),
    "units": Option(int, 200, "Width.", needs="encoder=lstm|gru|cnn"),
    "steps": Option(int, 9, "Steps.", needs="encoder=gru"),
    "bert": Option(str, None, "The folder.", required="encoder=bert", needs="encoder=bert"),
    "layer_decay": Option(float, None, "Factor.", needs="bert"),
    "elmo": Option(str, None, "A run.", excludes=("elmo_config", "elmo_weights")),
    "elmo_config": Option(str, None, "A file.", needs="elmo_weights"),
    "elmo_weights": Option(str, None, "A file.", needs="elmo_config"),
    "top": Option(bool, False, "Top layer.", needs="elmo or elmo_weights or absent"),
    "decay": Option(float, 1.0, "Factor.", excludes=("warmup", "schedule=linear")),
    "warmup": Option(int, 0, "Steps."),
    "schedule": Option(str, "constant", "Schedule.", ["constant", "linear"]),
    "validation": Option(str, None, "A file."),
    "train_vectors": Option(str, None, "A file.", needs="validation_vectors if validation"),
    "validation_vectors": Option(str, None, "A file.", needs=("validation", "train_vectors")),
    "use_crf": Option(bool, True, "A CRF.", excludes="encoder=cnn"),
    "transition_rate": Option(float, 1.0, "Rate.", excludes="no_use_crf"),
    "tokens": Option(str, "spaces", "Tokens.", needs="encoder=bert if tokens=pieces"),
}


def options(**given):
    return argparse.Namespace(**{name: o.default for name, o in TABLE.items()} | given)


@pytest.mark.parametrize(
    "given, message",
    [
        (
            {"encoder": "bert", "bert": "b", "units": 9},
            "--units has no effect with --encoder bert; it applies to lstm, gru and cnn.",
        ),
        ({"steps": 3}, "--steps has no effect with --encoder lstm; it applies to gru."),
        ({"encoder": "bert"}, "--bert is missing: the folder. --encoder bert requires it."),
        ({"bert": "b"}, "--bert has no effect with --encoder lstm; it applies to bert."),
        ({"layer_decay": 0.9}, "--layer-decay requires --bert."),
        ({"elmo": "r", "elmo_weights": "w"}, "--elmo cannot be combined with --elmo-weights."),
        ({"elmo_weights": "w"}, "--elmo-weights requires --elmo-config."),
        ({"top": True}, "--top requires --elmo or --elmo-weights."),
        ({"decay": 0.9, "warmup": 4}, "--decay cannot be combined with --warmup."),
        (
            {"decay": 0.9, "schedule": "linear"},
            "--decay cannot be combined with --schedule linear.",
        ),
        (
            {"use_crf": False, "transition_rate": 2.0},
            "--transition-rate cannot be combined with --no-use-crf.",
        ),
        (
            {"use_crf": False, "encoder": "cnn"},
            "--no-use-crf cannot be combined with --encoder cnn.",
        ),
        (
            {"validation": "d", "train_vectors": "v"},
            "--train-vectors requires --validation-vectors.",
        ),
        (
            {"validation_vectors": "v", "train_vectors": "v"},
            "--validation-vectors requires --validation.",
        ),
        (
            {"validation_vectors": "v", "validation": "d"},
            "--validation-vectors requires --train-vectors.",
        ),
        (
            {"tokens": "pieces"},
            "--tokens pieces has no effect with --encoder lstm; it applies to bert.",
        ),
    ],
)
def test_each_rule_in_words(given, message):
    with pytest.raises(ValueError) as raised:
        check_rules(options(**given), TABLE)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"units": 9, "encoder": "cnn"},
        {"units": 200, "encoder": "bert", "bert": "b", "layer_decay": 0.9},  # the default value
        {"elmo_config": "o", "elmo_weights": "w", "top": True},
        {"train_vectors": "v"},
        {"validation": "d", "train_vectors": "v", "validation_vectors": "v"},
        {"tokens": "pieces", "encoder": "bert", "bert": "b"},
        {"decay": 0.9},
        {"top": False},
        {"use_crf": False},
        {"use_crf": True, "transition_rate": 2.0, "encoder": "cnn"},
    ],
)
def test_options_that_agree(given):
    check_rules(options(**given), TABLE)


def test_rules_about_options_that_a_program_lacks():
    check_rules(argparse.Namespace(decay=0.9), {"decay": TABLE["decay"]})


def test_what_another_option_brings_along():
    table = {"init": Option(str, None, "A run."), **brought_by("init", {"units": TABLE["decay"]})}
    assert table["units"].excludes == ("init", "warmup", "schedule=linear")
    with pytest.raises(ValueError, match="--units cannot be combined with --init."):
        check_rules(argparse.Namespace(init="r", units=0.5), table)
    kept = brought_by("init", {"init": table["init"], "seed": TABLE["steps"]}, ("seed",))
    assert kept == {"init": table["init"], "seed": TABLE["steps"]}


def test_options_that_do_not_apply_or_are_not_set():
    table = {
        "encoder": Option(str, "bilstm", "Encoder.", ["bilstm", "bert"]),
        "units": Option(int, 9, "Width.", needs="encoder=bilstm"),
        "vectors": Option(str, None, "File."),
        "dim": Option(int, 100, "Width.", unused_with="vectors"),
        "decay": Option(float, 1.0, "Factor.", excludes="warmup"),
        "warmup": Option(int, 0, "Steps."),
        "crf": Option(bool, True, "CRF."),
        "rate": Option(float, 1.0, "Rate.", excludes="no_crf"),
        "cased": Option(bool, False, "Case."),
        "files": Option(str, None, "Files.", many=True),
        "validation_files": Option(str, "v", "Files.", needs="validation if files"),
        "validation": Option(str, None, "Files."),
    }

    def unused(**given):
        values = {name: option.default for name, option in table.items()} | given
        return unused_options(argparse.Namespace(**values), table)

    empty = ["vectors", "cased", "files", "validation"]
    assert unused() == empty  # 0 is a value
    assert unused(encoder="bert", vectors="v") == ["units", "dim", "cased", "files", "validation"]
    assert unused(decay=0.9) == ["vectors", "warmup", "cased", "files", "validation"]
    assert unused(warmup=3) == ["vectors", "decay", "cased", "files", "validation"]
    assert unused(crf=False, cased=True) == ["vectors", "rate", "files", "validation"]
    assert unused(files=["a"]) == ["vectors", "cased", "validation_files", "validation"]
