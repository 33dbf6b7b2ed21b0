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
        metric.update_state(np.mean(weight * batch), len(batch), batch_weight=weights)
    assert_close(float(metric.result()), losses.mean())


def test_batches_without_a_weight_and_a_penalty():
    metric = SentenceLoss()
    metric.update_state(2.0, 1, penalty=0.5)
    assert float(metric.result()) == 2.5
    metric.update_state(3.0, 3, batch_weight=[1.5, 1.5, 1.5], penalty=0.5)  # 3 / 1.5 + 0.5
    assert float(metric.result()) == 2.5
    metric.update_state(0.5, 4)
    assert float(metric.result()) == 1.5
