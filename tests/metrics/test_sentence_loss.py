"""Tests the mean loss of sentences from batches of different sizes and weights."""

import numpy as np
import pytest

from tests.closeness import assert_close
from tfreps.metrics import SentenceLoss


@pytest.mark.parametrize("sizes", [[3, 1], [5, 2, 8]])
def test_every_sentence_counts_alike(sizes):
    """The weights are those of `SequenceBatches`: rows of a batch / mean rows of all batches."""
    losses = np.random.default_rng(0).random(sum(sizes)).astype("float32")
    metric, mean = SentenceLoss(), np.mean(sizes)
    for batch in np.split(losses, np.cumsum(sizes)[:-1]):
        weight = len(batch) / mean
        weights = np.full(len(batch), weight, "float32")
        metric.update_state(np.mean(weight * batch), len(batch), weights)
    assert_close(float(metric.result()), losses.mean())


def test_weights_of_ones_own_and_a_penalty():
    metric = SentenceLoss()
    metric.update_state(2.0, 2, sample_weight=[1.0, 3.0], penalty=0.5)  # 2 / mean 2 + 0.5
    assert float(metric.result()) == 1.5
    metric.update_state(3.5, 2)
    assert float(metric.result()) == 2.5
    metric.update_state(1.0, 2, sample_weight=np.full([2, 3], 9.0))  # token weights: unchanged
    assert float(metric.result()) == 2.0


def test_a_batch_of_no_weight_is_no_nan():
    metric = SentenceLoss()
    metric.update_state(0.0, 2, sample_weight=[0.0, 0.0])
    assert float(metric.result()) == 0.0
