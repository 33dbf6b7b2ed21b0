import numpy as np
import pytest

from tests.closeness import assert_close
from tests.metrics.batches import evaluate, round_trip
from tfreps.metrics import TokenAccuracy

RNG = np.random.default_rng(0)
TRUE, PRED = RNG.integers(0, 3, size=(2, 8, 5))
MASK = RNG.random(TRUE.shape) < 0.7


@pytest.mark.parametrize("rows", [8, 3, 1])
def test_is_the_share_of_real_tokens_however_batched(rows):
    metric = TokenAccuracy()
    for start in range(0, 8, rows):
        part = slice(start, start + rows)
        metric.update_state(TRUE[part], PRED[part], MASK[part])
    assert_close(float(metric.result()), np.mean(TRUE[MASK] == PRED[MASK]))


def test_weights_say_which_tokens_count():
    metric = TokenAccuracy()
    metric.update_state([[0, 1], [1, 1]], [[0, 0], [1, 0]], [0.25, 0.0])
    assert float(metric.result()) == 0.5


def test_without_a_mask_all_tokens_count():
    metric = TokenAccuracy()
    assert float(metric.result()) == 0.0
    metric.update_state(TRUE, PRED)
    assert_close(float(metric.result()), np.mean(TRUE == PRED))


def test_in_a_compiled_model():
    value = evaluate(round_trip(TokenAccuracy(name="accuracy")), TRUE, PRED, MASK, batch_size=3)
    assert_close(value, np.mean(TRUE[MASK] == PRED[MASK]))
