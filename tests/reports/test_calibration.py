"""Calibration error, compared with the loops of docs/by_hand/calibration.py."""

import numpy as np
import pytest

from docs.by_hand import calibration
from tests.closeness import assert_close
from tests.known_models import softmax
from tfreps._src.reports.calibration import format_calibration, threshold_at
from tfreps.reports import calibration_error


@pytest.mark.parametrize("bins", [1, 4, 15])
def test_calibration_error(bins):
    rng = np.random.default_rng(bins)
    shares = np.concatenate([rng.random(200), [0.0, 0.25, 0.5, 0.75, 1.0]])
    right = rng.random(205) < shares**2
    for given in shares, shares.astype("float32"):  # float32 as from a model
        expected = calibration.calibration_error(given, right, bins)
        assert_close(calibration_error(given, right, bins), expected)


def test_known_errors():
    assert calibration_error([1.0, 1.0, 0.0], [True, True, False]) == 0
    assert calibration_error([1.0, 0.0], [False, True]) == 1
    assert calibration_error([0.8] * 10, [1] * 8 + [0] * 2) < 1e-9  # as often right as predicted
    assert_close(calibration_error([0.95] * 4, [1, 1, 0, 0]), 0.45)
    assert calibration_error([1 + 1e-6], [1]) < 1e-5  # rounding


@pytest.mark.parametrize(
    "confidences, is_right, bins, message",
    [
        ([], [], 15, "must contain at least one prediction"),
        ([0.5], [1, 0], 15, "must have the same length; got 1 and 2"),
        ([0.5, 1.5], [1, 0], 15, "must be probabilities from 0 to 1; got 1.5"),
        ([float("nan")], [1], 15, "must be probabilities from 0 to 1; got nan"),
        ([0.5], [2], 15, r"`is_right` must contain only 0 and 1; got \[2\]"),
        ([[0.5]], [1], 15, r"`confidences` must have one axis.*\(1, 1\)"),
        ([0.5], [1], 0, "`bins` must be at least 1; got 0"),
    ],
)
def test_wrong_arguments(confidences, is_right, bins, message):
    with pytest.raises(ValueError, match=message):
        calibration_error(confidences, is_right, bins)


def test_thresholds_at_another_temperature():
    logits = np.array([[0.0, -1.5], [1.0, 3.0]])
    for row in logits:
        threshold = softmax(row / 2.0)[1]
        assert_close(threshold_at(threshold, 2.0, 0.5), softmax(row / 0.5)[1])
    assert threshold_at(0.3, 1.5, 1.5) == 0.3
    assert [threshold_at(t, 1.0, 0.01) for t in (0.0, 0.5, 1.0)] == [0.0, 0.5, 1.0]
    assert threshold_at(1e-300, 100.0, 0.01) == 0.0  # without an overflow


def test_the_line_about_calibration():
    results = {"calibration_error": 0.01234, "temperature": 1.0}
    assert format_calibration(results) == "expected calibration error: 0.0123"
    results |= {"tokens": 5, "span_calibration_error": 0.5, "temperature": 1.25}
    assert format_calibration(results) == (
        "expected calibration error: 0.0123 of tags, 0.5000 of spans (at temperature 1.2500)"
    )
