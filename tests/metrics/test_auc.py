import numpy as np
import pytest

from tests.closeness import FLOAT64, assert_close
from tests.metrics.batches import round_trip
from tfreps.metrics import AUC
from tfreps.reports import auc

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, 200)
SCORES = RNG.normal(size=200) * 8 + LABELS * 3


def pairs_won(labels, scores):
    """Returns the share of pairs in which the score of label 1 is higher; ties count half."""
    positive, negative = scores[labels == 1], scores[labels == 0]
    return np.mean([(p > n) + (p == n) / 2 for p in positive for n in negative])


@pytest.mark.parametrize("rows", [200, 7, 1])
def test_is_the_share_of_pairs_in_order_however_batched(rows):
    metric = round_trip(AUC())
    for start in range(0, 200, rows):
        metric.update_state(LABELS[start : start + rows], SCORES[start : start + rows])
    expected = pairs_won(LABELS, np.round(np.clip(SCORES, -16, 16) * 2048))
    assert_close(float(metric.result()), expected)  # the result is float32
    assert_close(auc(LABELS == 1, SCORES), pairs_won(LABELS, SCORES), unit=FLOAT64)
    metric.reset_state()
    assert float(metric.result()) == 0.5


def test_ties_count_half_and_large_scores_count():
    metric = AUC()
    metric.update_state([1, 0, 1, 0], [1.0, 1.0, 99.0, -99.0])
    assert_close(float(metric.result()), 3.5 / 4)


def test_texts_of_weight_0_are_left_out():
    metric = AUC()
    metric.update_state(LABELS, SCORES, sample_weight=(np.arange(200) < 50) * 0.25)
    expected = pairs_won(LABELS[:50], np.round(np.clip(SCORES[:50], -16, 16) * 2048))
    assert_close(float(metric.result()), expected)


def test_scores_that_float_rounding_alone_tells_apart_are_equal():
    noise = np.random.default_rng(1).uniform(-4e-6, 4e-6, 200)
    scores = RNG.integers(-8, 8, 200) / 4.0  # many ties
    metric = AUC()
    metric.update_state(LABELS, scores + noise)
    expected = pairs_won(LABELS, scores)
    assert_close(float(metric.result()), expected)
    assert auc(LABELS == 1, scores + noise) != expected


@pytest.mark.parametrize("label", [0, 1])
def test_one_label_alone(label):
    metric = AUC()
    metric.update_state([label, label], [0.3, 0.7])
    assert float(metric.result()) == 0.5


def test_scores_that_are_no_numbers_are_left_out():
    metric = AUC()
    metric.update_state([1, 0, 1, 0], [1.0, 2.0, np.nan, np.inf])
    assert float(metric.result()) == 0.0  # the pairs of each text of label 0 with the first text
    metric.update_state([0], [-np.inf])
    assert_close(float(metric.result()), 1 / 3)
