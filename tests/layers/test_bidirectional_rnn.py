"""BiLSTM and BiGRU against the Keras LSTM and GRU on each sentence alone."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.layers import BiGRU, BiLSTM

X = np.random.default_rng(3).normal(size=[4, 6, 3]).astype("float32")
# Right padding, holes, left padding, no token.
MASK = np.array(
    [[1, 1, 1, 1, 0, 0], [1, 0, 1, 1, 0, 1], [0, 0, 0, 1, 1, 1], [0, 0, 0, 0, 0, 0]], bool
)


ORACLES = {BiLSTM: keras.layers.LSTM, BiGRU: keras.layers.GRU}
FORGET = np.repeat([0.0, 1.0, 0.0, 0.0], 5)  # BiLSTM adds the forget bias of 1 in its formula


@pytest.fixture(params=ORACLES, ids=lambda cls: cls.__name__)
def layer(request):
    layer = request.param(5)
    layer.build((None, None, 3))
    rng = np.random.default_rng(4)
    for weight in layer.weights:
        weight.assign(0.5 * rng.normal(size=weight.shape))
    return layer


def kerass_own(layer):
    """Returns the Keras layer with the same weights."""
    oracle = ORACLES[type(layer)](5, return_sequences=True)
    bidirectional = keras.layers.Bidirectional(oracle)
    bidirectional.build((None, None, 3))
    added = FORGET if isinstance(layer, BiLSTM) else 0.0
    weights = []
    for kernels in zip(layer.kernels, layer.recurrent_kernels, layer.biases, strict=True):
        kernel, recurrent, bias = (np.asarray(weight) for weight in kernels)
        weights += [kernel, recurrent, bias + added]
    bidirectional.set_weights(weights)
    return bidirectional


def test_equals_keras_on_the_real_tokens_alone(layer):
    oracle = kerass_own(layer)
    outputs, last = layer(np.where(MASK[..., None], X, np.nan), mask=MASK)
    assert outputs.shape == (4, 6, 10) and last.shape == (4, 10)
    for row in range(3):
        expected = oracle(X[row, MASK[row]][None])[0].numpy()
        assert_close(outputs[row][MASK[row]], expected)
        ends = np.concatenate([expected[-1, :5], expected[0, 5:]])
        assert_close(last[row], ends)
    np.testing.assert_array_equal(outputs.numpy()[~MASK], 0.0)
    np.testing.assert_array_equal(last[3], 0.0)


@pytest.mark.parametrize("training", [False, True])
def test_gradients_equal_those_of_keras(layer, training):
    oracle, d = kerass_own(layer), tf.constant(np.random.default_rng(5).normal(size=[4, 6, 10]))
    d = tf.cast(d, "float32")
    with tf.GradientTape(persistent=True) as tape:
        mine = tf.reduce_sum(d * layer(X, training=training)[0])
        theirs = tf.reduce_sum(d * oracle(X))
    gradients = tape.gradient(theirs, [w.value for w in oracle.weights])  # three per direction
    for direction in range(2):
        kept = layer.kernels, layer.recurrent_kernels, layer.biases
        weights = [part[direction].value for part in kept]
        expected = gradients[3 * direction : 3 * direction + 3]
        for a, b in zip(tape.gradient(mine, weights), expected, strict=True):
            assert_close(a, b)


def test_texts_of_no_columns(layer):
    outputs, last = layer(np.zeros([2, 0, 3], "float32"))
    assert outputs.shape == (2, 0, 10)
    np.testing.assert_array_equal(last, np.zeros([2, 10]))


@pytest.mark.parametrize("cls", ORACLES)
def test_inputs_of_another_rank(cls):
    with pytest.raises(ValueError, match="expected ndim=3, found ndim=2"):
        cls(2)(np.zeros([2, 3], "float32"))
