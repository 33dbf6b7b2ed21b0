"""Tests the options of biLM pre-training; test_pretrain_bad_input.py tests the command."""

import argparse

import pytest

from tfreps._src.cli.options import default_values
from tfreps._src.models.sizes import ELMO
from tfreps.training.options.elmo_options import MODEL, are_filters, json_or_text
from tfreps.training.pretrain_elmo import COMMAND


def check(**changes):
    options = {**default_values(COMMAND.options), "train": ["t"], "run": "r", **changes}
    COMMAND.check(argparse.Namespace(**options))


def test_what_makes_sense():
    check()
    check(filters=[[1, 8], [2, 16]])
    check(init="r", dropout=0.5, precision="float16", init_config="o")


@pytest.mark.parametrize("filters", ["[[1", 8, [[1]], [["1", 8]], [[1, 8.5]], {"1": 8}])
def test_filters(filters):
    assert not are_filters(filters)
    with pytest.raises(ValueError, match="--filters must be a list of"):
        check(filters=filters)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"epochs": 1.0, "steps": 3}, "--epochs cannot be combined with --steps"),
        ({"init": "r", "units": 3}, "--units cannot be combined with --init"),
        ({"init": "r", "size": "elmo_tiny"}, "--size cannot be combined with --init"),
        ({"init": "r", "tie_embeddings": True}, "--tie-embeddings cannot be combined with --init"),
        ({"init_config": "o"}, "--init-config requires --init"),
    ],
)
def test_what_cannot_be(changes, message):
    with pytest.raises(ValueError, match=message):
        check(**changes)


def test_choices_are_those_of_the_library():
    assert MODEL["size"].choices == sorted(ELMO)


def test_text_that_is_deep():
    assert json_or_text("[" * 100_000) == "[" * 100_000
