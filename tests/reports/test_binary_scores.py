"""AUC, thresholds and scores compared with all pairs, all thresholds and scikit-learn."""

import numpy as np
import pytest

from tests.closeness import FLOAT64, assert_close
from tfreps import reports

CASES = [  # with and without ties
    (rng.integers(0, 2, size), rng.normal(size=size).round(digits))
    for rng in [np.random.default_rng(0)]
    for size in (7, 50, 300)
    for digits in (0, 1, 9)
]


@pytest.mark.parametrize("positive, scores", CASES)
def test_auc_is_the_share_of_pairs_in_order(positive, scores):
    above, below = scores[positive == 1], scores[positive == 0]
    wins = (above[:, None] > below) + 0.5 * (above[:, None] == below)
    assert_close(reports.auc(positive, scores), wins.mean(), unit=FLOAT64)


@pytest.mark.parametrize("positive, scores", CASES)
def test_auc_is_scikit_learn(positive, scores):
    metrics = pytest.importorskip("sklearn.metrics", reason="pip install scikit-learn, the oracle")
    expected = metrics.roc_auc_score(positive, scores)
    assert_close(reports.auc(positive, scores), expected, unit=FLOAT64)


@pytest.mark.parametrize("positive, scores", CASES)
def test_best_threshold_is_the_best_of_all(positive, scores):
    def f1(threshold):
        chosen = scores >= threshold
        return 2 * (chosen & (positive == 1)).sum() / (chosen.sum() + positive.sum())

    best = max((f1(threshold), threshold) for threshold in scores)
    threshold, value = reports.best_threshold(positive, scores)
    assert_close((value, threshold), best)
    at = reports.scores_at(positive, scores, threshold)
    assert at["f1"] == pytest.approx(value) and at["support"] == positive.sum()
    assert_close(at["accuracy"], np.mean((scores >= threshold) == positive))


def test_all_scores_equal():
    assert reports.auc([1, 0, 0], [0.5] * 3) == 0.5
    assert reports.best_threshold([1, 0, 0], [0.5] * 3) == (0.5, 0.5)


def test_threshold_that_nothing_reaches():
    expected = {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1, "accuracy": 0.5}
    assert reports.scores_at([1, 0], [0.1, 0.2], 0.5) == expected


@pytest.mark.parametrize(
    "positive, scores, message",
    [
        ([1, 1], [0.1, 0.2], "positive and negative examples for the AUC; 2 of 2 are positive"),
        ([1, 0], [0.1], "`y_score` must have the same length; got 2 and 1 values"),
        ([1, 0], [0.1, np.nan], "`y_score` must not contain NaN; score 2 .* is"),
        ([1, 2], [0.1, 0.2], "`y_true` must contain only 0 and 1"),
        ([1, 0], [[0.1], [0.2]], "`y_score` must have one axis"),
        ([[1], [0]], [0.1, 0.2], r"`y_true` must have one axis, .*; got the shape \(2, 1\)"),
        ([], [], "at least one example"),
    ],
)
def test_bad_scores(positive, scores, message):
    with pytest.raises(ValueError, match=message):
        reports.auc(positive, scores)


def test_no_positive_example():
    with pytest.raises(ValueError, match="none of the 2 examples is positive"):
        reports.best_threshold([0, 0], [0.1, 0.2])
