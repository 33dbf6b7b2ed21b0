"""Options of pre-training a biLM; test_pretrain_bad_input.py gives them to the program."""

import argparse

import pytest

from tfreps.cli import elmo_options
from tfreps.cli.options import default_values


def make_options(**changes):
    tables = elmo_options.SIZES, elmo_options.TRAINING, elmo_options.FIGURES
    return argparse.Namespace(**{**default_values(*tables), **changes})


def test_defaults_make_sense():
    elmo_options.check(make_options())
    elmo_options.check(make_options(filters=[[1, 8], [2, 16]]))


@pytest.mark.parametrize("filters", ["[[1", 8, [[1]], [["1", 8]], [[1, 8.5]], {"1": 8}])
def test_filters(filters):
    with pytest.raises(ValueError, match="--filters must be a list of"):
        elmo_options.check(make_options(filters=filters))


def test_epochs_or_steps():
    with pytest.raises(ValueError, match="Give --epochs or --steps, not both"):
        elmo_options.check(make_options(epochs=1.0, steps=3))


def test_text_that_is_deep():
    assert elmo_options.json_or_text("[" * 100_000) == "[" * 100_000
