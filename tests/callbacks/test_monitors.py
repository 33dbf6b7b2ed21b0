"""Tests the comparison of metrics in Keras's modes."""

import pytest

from tfreps._src.callbacks.monitors import check_mode, is_better, short_name


@pytest.mark.parametrize(
    "monitor, mode, expected",
    [
        ("val_loss", "auto", "min"),
        ("val_masked_perplexity", "auto", "min"),
        ("val_auc", "auto", "max"),
        ("accuracy", "auto", "max"),
        ("val_loss", "max", "max"),
        ("val_distance", "min", "min"),
    ],
)
def test_modes(monitor, mode, expected):
    assert check_mode(monitor, mode) == expected


def test_what_auto_cannot_tell():
    with pytest.raises(
        ValueError, match="cannot infer whether smaller or larger values of 'val_distance'"
    ):
        check_mode("val_distance", "auto")
    with pytest.raises(ValueError, match="`mode` must be one of auto, min, max; got 'least'"):
        check_mode("val_loss", "least")


@pytest.mark.parametrize(
    "value, best, mode, expected",
    [
        (1.0, None, "min", True),
        (1.0, 2.0, "min", True),
        (2.0, 2.0, "min", False),
        (3.0, 2.0, "max", True),
        (float("nan"), None, "max", False),
        (float("nan"), None, "min", False),
    ],
)
def test_better(value, best, mode, expected):
    assert is_better(value, best, mode) is expected


def test_the_name_in_results():
    assert short_name("val_span_f1") == short_name("span_f1") == "span_f1"
