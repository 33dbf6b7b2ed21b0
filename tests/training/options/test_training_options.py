"""Tests the options that all training commands share."""

import pytest

from tfreps._src.cli.command import Command, Group
from tfreps.training.options.training_options import (
    LABELING,
    OPTIMIZER,
    PRECISION,
    RUN_GROUP,
    SHARED,
)

COMMAND = Command("train", "Trains.", {}, [RUN_GROUP, Group("training", "Length.", LABELING)])


def test_taggers_and_classifiers_have_all_of_them():
    assert set(OPTIMIZER) | set(SHARED) < set(LABELING)
    options = COMMAND.parse(["--run", "r", "--distribute", "none", "--ema-momentum", "0.9"])
    assert (options.run, options.distribute, options.ema_momentum) == ("r", "none", 0.9)
    assert options.precision == PRECISION.default == "auto"


@pytest.mark.parametrize("other", [["--warmup-steps", "4"], ["--schedule", "linear"]])
def test_rates_that_cannot_be_combined(other):
    with pytest.raises(ValueError, match=f"--decay cannot be combined with {other[0]}"):
        COMMAND.parse(["--run", "r", "--decay", "0.9", *other])
