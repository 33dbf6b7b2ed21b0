"""Tests WeightedTokenF1 against plain loops and scikit-learn's weighted average."""

import numpy as np
import pytest

from tests.closeness import assert_close
from tests.metrics.batches import evaluate, round_trip
from tfreps.metrics import WeightedTokenF1

RNG = np.random.default_rng(0)
TRUE = np.minimum(RNG.integers(0, 9, size=(12, 10)), 5)  # tag 6 never occurs
PRED = np.where(RNG.random(TRUE.shape) < 0.3, RNG.integers(0, 7, size=TRUE.shape), TRUE)
PRED[PRED == 2] = 0  # tag 2 is never predicted
MASK = RNG.random(TRUE.shape) < 0.8


def oracle(true, pred, outside=None):
    """Returns the three scores, computed tag by tag from lists of tokens."""
    pairs = [(t, p) for t, p in zip(true, pred, strict=True) if t != outside]
    sums = {"precision": 0.0, "recall": 0.0, "f1": 0.0}
    for tag in {t for t, _ in pairs}:
        correct = sum(t == p == tag for t, p in pairs)
        predicted, count = sum(p == tag for _, p in pairs), sum(t == tag for t, _ in pairs)
        p, r = correct / predicted if predicted else 0.0, correct / count
        for name, value in zip(sums, (p, r, 2 * p * r / (p + r + 1e-10)), strict=True):
            sums[name] += count * value
    return {name: total / len(pairs) for name, total in sums.items()}


@pytest.mark.parametrize("outside", [None, 0, 5])
@pytest.mark.parametrize("rows", [12, 5, 1])
def test_is_the_definition_however_batched(rows, outside):
    metric = WeightedTokenF1(7, outside_id=outside)
    for start in range(0, 12, rows):
        part = slice(start, start + rows)
        metric.update_state(TRUE[part], PRED[part], MASK[part])
    expected = oracle(TRUE[MASK].tolist(), PRED[MASK].tolist(), outside)
    assert_close(metric.scores(), expected, terms=1, unit=1e-10)
    assert_close(float(metric.result()), expected["f1"])


def test_is_scikit_learn_weighted():
    pytest.importorskip("sklearn", reason="pip install scikit-learn, the oracle")
    from sklearn.metrics import precision_recall_fscore_support

    metric = WeightedTokenF1(7)
    metric.update_state(TRUE, PRED)
    expected = precision_recall_fscore_support(
        TRUE.ravel(), PRED.ravel(), average="weighted", zero_division=0
    )
    # The metric adds 1e-10 to denominators.
    assert_close(list(metric.scores().values()), expected[:3], terms=1, unit=1e-10)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("statistic", ["f1", "precision", "recall"])
def test_in_a_compiled_model(statistic):
    metric = round_trip(WeightedTokenF1(7, outside_id=5, statistic=statistic))
    value = evaluate(metric, TRUE, PRED, MASK, batch_size=5)
    expected = oracle(TRUE[MASK].tolist(), PRED[MASK].tolist(), 5)
    assert_close(value, expected[statistic])


def test_what_is_masked_may_be_anything():
    metric = WeightedTokenF1(2)
    metric.update_state([[0, 99]], [[0, -7]], [[True, False]])
    assert_close(metric.scores(), {"precision": 1.0, "recall": 1.0, "f1": 1.0})


def test_nothing_seen_is_zero():
    metric = WeightedTokenF1(2)
    assert float(metric.result()) == 0.0
    metric.update_state([[1]], [[1]])
    metric.reset_state()
    assert metric.scores() == {"precision": 0.0, "recall": 0.0, "f1": 0.0}


def test_config_is_complete():
    config = WeightedTokenF1(4, outside_id=3, statistic="recall", name="recall").get_config()
    assert config.pop("dtype") == "float32"
    assert config == {"name": "recall", "num_tags": 4, "outside_id": 3, "statistic": "recall"}


@pytest.mark.parametrize(
    "options, message",
    [
        ({"num_tags": 0}, "`num_tags` must be at least 1; got 0"),
        ({"num_tags": 2, "outside_id": 2}, "`outside_id` must be a tag id from 0 to 1"),
        ({"num_tags": 2, "statistic": "F1"}, "`statistic` must be one of"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        WeightedTokenF1(**options)
