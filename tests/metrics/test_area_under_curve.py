import numpy as np
import pytest

from tests.metrics.batches import round_trip
from tfreps.metrics import AreaUnderCurve
from tfreps.reports.binary_scores import auc

RNG = np.random.default_rng(0)
LABELS = RNG.integers(0, 2, 200)
SCORES = RNG.normal(size=200) * 8 + LABELS * 3


def pairs_won(labels, scores):
    """The definition: all pairs, ties half."""
    positive, negative = scores[labels == 1], scores[labels == 0]
    return np.mean([(p > n) + (p == n) / 2 for p in positive for n in negative])


@pytest.mark.parametrize("rows", [200, 7, 1])
def test_is_the_share_of_pairs_in_order_however_batched(rows):
    metric = round_trip(AreaUnderCurve())
    for start in range(0, 200, rows):
        metric.update_state(LABELS[start : start + rows], SCORES[start : start + rows])
    expected = pairs_won(LABELS, SCORES)
    # A pair within a bin, 80/16383 wide, counts half: a few of the 10,000 pairs at most.
    assert float(metric.result()) == pytest.approx(expected, abs=5e-4)
    assert auc(LABELS == 1, SCORES) == pytest.approx(expected, abs=1e-12)
    metric.reset_state()
    assert float(metric.result()) == 0.5


def test_ties_count_half_and_large_scores_count():
    metric = AreaUnderCurve()
    metric.update_state([1, 0, 1, 0], [1.0, 1.0, 99.0, -99.0])
    assert float(metric.result()) == pytest.approx(3.5 / 4)


def test_texts_of_weight_0_are_left_out():
    metric = AreaUnderCurve()
    metric.update_state(LABELS, SCORES, sample_weight=(np.arange(200) < 50) * 0.25)
    expected = pairs_won(LABELS[:50], SCORES[:50])
    assert float(metric.result()) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize("label", [0, 1])
def test_one_label_alone(label):
    metric = AreaUnderCurve()
    metric.update_state([label, label], [0.3, 0.7])
    assert float(metric.result()) == 0.5


def test_scores_that_are_no_numbers_are_left_out():
    metric = AreaUnderCurve()
    metric.update_state([1, 0, 1, 0], [1.0, 2.0, np.nan, np.inf])
    assert float(metric.result()) == 0.0  # the one pair of each text of 0 with the first
    metric.update_state([0], [-np.inf])
    assert float(metric.result()) == pytest.approx(1 / 3)
