"""SelfAttention against plain loops; dependencies, masks and separate kernels."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import transformer
from tests.closeness import assert_close
from tests.paper_weights import block_weights
from tfreps.layers import SelfAttention

X = np.random.default_rng(3).normal(size=[4, 5, 6]).astype("float32")
# Right padding, holes, left padding, no token.
MASK = np.array([[1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], bool)


def make(**options):
    layer = SelfAttention(**{"num_heads": 3, **options})
    layer.build((None, None, X.shape[-1]))
    rng = np.random.default_rng(4)
    for weight in layer.weights:
        if "float" in weight.dtype:
            weight.assign(rng.normal(size=weight.shape))
    return layer


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("num_heads", [1, 2, 3])
def test_equals_plain_loops_whatever_stands_on_padding(num_heads, causal):
    layer = make(num_heads=num_heads, causal=causal)
    weights = block_weights(layer)
    x = np.where(MASK[..., None], X, np.nan)
    y, probabilities = layer(x, mask=MASK, return_attention=True)
    np.testing.assert_array_equal(layer(x, mask=MASK), y)
    for row in range(4):
        rows = X[row].astype("float64")
        expected = transformer.attention(rows, weights, num_heads, MASK[row], causal)
        assert_close(y[row], expected[0])
        assert_close(probabilities[row], expected[1])


@pytest.mark.parametrize("causal", [False, True])
def test_without_a_mask_all_are_real(causal):
    layer = make(causal=causal)
    for one, other in zip(
        layer(X, return_attention=True),
        layer(X, mask=np.ones_like(MASK), return_attention=True),
        strict=True,
    ):
        assert_close(one, other)


def test_equals_keras_with_the_kernels_of_bert():
    """The fused kernel is the concatenation of separate kernels along axis 1."""
    rng = np.random.default_rng(5)
    kernels, biases = rng.normal(size=[3, 6, 6]), rng.normal(size=[3, 6])
    combine = [rng.normal(size=[6, 6]), rng.normal(size=[6])]
    layer = make(num_heads=2)
    layer.query_key_value.set_weights([np.concatenate([*kernels], axis=1), biases.reshape(-1)])
    layer.combine.set_weights(combine)
    oracle = keras.layers.MultiHeadAttention(2, 3)
    oracle.build((None, None, 6), (None, None, 6))
    weights = []
    for kernel, bias in zip(kernels, biases, strict=True):
        weights += [kernel.reshape(6, 2, 3), bias.reshape(2, 3)]
    oracle.set_weights([*weights, combine[0].reshape(2, 3, 6), combine[1]])
    expected = oracle(X, X, attention_mask=MASK[:, None, :] & MASK[:, :, None])
    # The terms of four matrix multiplications with a softmax between them.
    assert_close(layer(X, mask=MASK)[:3][MASK[:3]], expected[MASK], terms=256)


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_are_finite_and_say_who_reads_whom(causal):
    layer, x = make(causal=causal), tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(x, mask=MASK)
        chosen = tf.reduce_sum(y[:, 2])  # output at position 2, if it is real
    gradient = tape.gradient(chosen, x).numpy()
    assert np.isfinite(gradient).all()
    read = MASK & MASK[:, 2:3] & (np.arange(5) <= (2 if causal else 5))
    np.testing.assert_array_equal(gradient.any(axis=-1), read)


def test_weights_get_finite_gradients_from_texts_without_tokens():
    layer = make(dropout=0.5)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.square(layer(X, mask=np.zeros_like(MASK), training=True)))
    weights = [weight.value for weight in layer.trainable_weights]
    assert float(y) == 0.0
    for gradient in tape.gradient(y, weights):
        np.testing.assert_array_equal(gradient, 0.0)


def test_drops_probabilities_in_training_alone_and_returns_them_before():
    layer, d = make(num_heads=1, dropout=0.5), X.shape[-1]
    layer.query_key_value.set_weights([np.zeros([d, 3 * d]), np.ones(3 * d)])  # values are 1
    layer.combine.set_weights([np.eye(d), np.zeros(d)])
    y, probabilities = layer(X, training=True, return_attention=True)
    fifths = (y * 5 / 2).numpy()  # number of tokens out of 5 that were not dropped
    assert_close(fifths, fifths.round())
    assert len(np.unique(fifths.round())) > 2
    assert_close(probabilities, 0.2)
    assert_close(layer(X), 1.0)


def test_the_softmax_is_in_float32():
    """For two thousand equal tokens, a bfloat16 softmax would not sum to 1."""
    layer = SelfAttention(1, dtype="mixed_bfloat16")
    _, probabilities = layer(tf.ones([1, 2000, 4]), return_attention=True)
    assert_close(tf.reduce_sum(probabilities, axis=-1), 1.0, terms=2000)
    assert probabilities.dtype == "float32"


def test_texts_of_no_columns():
    assert make()(X[:, :0], mask=MASK[:, :0]).shape == (4, 0, 6)


def test_keras_knows_what_comes_out():
    layer, inputs = make(), keras.Input([None, 6])
    y, probabilities = layer(inputs, return_attention=True)
    assert y.shape == layer(inputs).shape == (None, None, 6)
    assert probabilities.shape == (None, 3, None, None) and y.dtype == "float32"
    model = keras.Model(inputs, [y, probabilities])
    np.testing.assert_array_equal(model(X)[1], layer(X, return_attention=True)[1])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"num_heads": 4}, "the width of the inputs; got 4 heads for inputs of width 6"),
        ({"kernel_initializer": "swoosh"}, "swoosh"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
