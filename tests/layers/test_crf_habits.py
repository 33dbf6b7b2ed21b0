"""Tests reductions of the CRF's loss and unpadded results, which other CRF libraries have, too."""

import numpy as np
import pytest

from tests.closeness import assert_close
from tfreps.layers import CRF

pytestmark = pytest.mark.usefixtures("eager_if_quick")

K = 3
RNG = np.random.default_rng(0)
MASK = np.array([[1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], bool)
EMISSIONS = RNG.normal(size=[3, 4, K]).astype("float32")
TAGS = RNG.integers(0, K, [3, 4])
WEIGHTS = {
    "none": None,
    "sentences": np.array([0.5, 2.0, 3.0]),
    "tokens": RNG.random([3, 4]),
}


@pytest.fixture(scope="module")
def crf():
    crf = CRF(K)
    crf.build([None, None, K])
    for weight in crf.weights:
        weight.assign(RNG.normal(size=weight.shape))
    return crf


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_reductions_of_the_loss(crf, weights):
    each = crf.loss(EMISSIONS, TAGS, MASK, weights, reduction="none").numpy()
    assert each.shape == (3,)
    if weights is None or weights.ndim == 1:
        expected = -crf.log_likelihood(EMISSIONS, TAGS, MASK).numpy()
        assert_close(each, expected * (1.0 if weights is None else weights))
    for reduction, divisor in {"sum": 1, "mean": 3, "token_mean": 7}.items():
        found = crf.loss(EMISSIONS, TAGS, MASK, weights, reduction=reduction)
        assert_close(found, each.sum() / divisor)
    assert_close(crf.loss(EMISSIONS, TAGS, MASK, weights), each.sum() / 3)


def test_an_unknown_reduction(crf):
    with pytest.raises(ValueError, match="`reduction` must be one of .*; got 'average'"):
        crf.loss(EMISSIONS, TAGS, reduction="average")


@pytest.mark.parametrize("k", [None, 2])
def test_lists_of_real_tokens(crf, k):
    padded, scores = crf.decode(EMISSIONS, MASK, k=k)
    lists, same = crf.decode(EMISSIONS, MASK, k=k, padded=False)
    np.testing.assert_array_equal(scores, same)
    padded = padded.numpy()
    if k is None:
        assert lists == [[int(padded[b, t]) for t in range(4) if MASK[b, t]] for b in range(3)]
    else:
        for b in range(3):
            expected = [[int(path[t]) for t in range(4) if MASK[b, t]] for path in padded[b]]
            assert lists[b] == expected
    assert crf.decode(EMISSIONS, padded=False)[0] == crf.decode(EMISSIONS)[0].numpy().tolist()
