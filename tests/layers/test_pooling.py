"""Pooling against plain loops over the real tokens."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.layers import Pooling

POOLINGS = "mean", "max", "mean_max", "mean_sqrt", "attention", "first"
X = np.random.default_rng(3).normal(size=[4, 5, 3]).astype("float32")
# Right padding, a hole, left padding, no token.
MASK = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], bool)


def oracle(layer, tokens):
    """Pools one text of real tokens `[n, D]`."""
    if len(tokens) == 0:
        return np.zeros(2 * X.shape[-1] if layer.pooling == "mean_max" else X.shape[-1])
    if layer.pooling == "first":
        return tokens[0]
    if layer.pooling == "mean_sqrt":
        return sum(tokens) / np.sqrt(len(tokens))
    mean = sum(tokens) / len(tokens)
    highest = np.array([max(token[d] for token in tokens) for d in range(X.shape[-1])])
    if layer.pooling == "attention":
        kernel, bias, query = (np.asarray(w) for w in (layer.kernel, layer.bias, layer.query))
        scores = [np.exp(np.tanh(token @ kernel + bias) @ query) for token in tokens]
        return sum(s * token for s, token in zip(scores, tokens, strict=True)) / sum(scores)
    return {"mean": mean, "max": highest, "mean_max": np.concatenate([mean, highest])}[
        layer.pooling
    ]


def make(pooling, **kwargs):
    layer = Pooling(pooling, **kwargs)
    layer.build((None, None, X.shape[-1]))
    rng = np.random.default_rng(4)
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape))
    return layer


@pytest.mark.parametrize("pooling", POOLINGS)
def test_equals_plain_loops_whatever_stands_on_padding(pooling):
    layer = make(pooling, attention_units=6 if pooling == "attention" else None)
    x = np.where(MASK[..., None], X, np.nan)
    expected = [oracle(layer, tokens[mask]) for tokens, mask in zip(X, MASK, strict=True)]
    assert_close(layer(x, mask=MASK), expected)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_gradients_are_finite_and_zero_on_padding(pooling):
    layer, x = make(pooling), tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.square(layer(x, mask=MASK)))
    gradient = tape.gradient(y, x).numpy()
    assert np.isfinite(gradient).all() and gradient[0].any()
    np.testing.assert_array_equal(gradient[~MASK], 0.0)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_texts_of_no_columns(pooling):
    y = make(pooling)(np.zeros([2, 0, 3], "float32"), mask=np.zeros([2, 0], bool))
    np.testing.assert_array_equal(y, np.zeros([2, 6 if pooling == "mean_max" else 3]))


def test_adds_up_in_float32():
    """A sum of ones in bfloat16 stops at 256."""
    x = tf.ones([1, 1000, 1], "bfloat16")
    for pooling in POOLINGS[:2]:
        y = Pooling(pooling, dtype="mixed_bfloat16")(x)
        assert y.dtype == tf.float32 and float(y[0, 0]) == 1.0


def test_wrong_options():
    with pytest.raises(ValueError, match="`pooling` must be one of .*; got 'sum'"):
        Pooling("sum")
