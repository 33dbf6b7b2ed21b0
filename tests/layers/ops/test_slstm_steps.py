"""Gates and neighbors of the S-LSTM, and its gradient against autodiff and differences."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import BFLOAT16, assert_close
from tests.layers import slstm_oracle
from tests.layers.test_slstm import FORMS, MASKS, UNITS, batch, make
from tfreps._src.layers.ops import slstm_steps
from tfreps.layers import SLSTM, SLSTMCell


def losses(words, sentence):
    """Returns a scalar that depends on every state with a different weight."""
    rng = np.random.default_rng(5)
    pair = [rng.normal(size=[*MASKS.shape, UNITS]), rng.normal(size=[len(MASKS), 3, UNITS])]
    weights = [weight.astype("float32") for weight in pair]
    nodes = weights[1][:, : sentence.shape[1]]
    return tf.reduce_sum(words * weights[0]) + tf.reduce_sum(sentence * nodes)


def gradients(layer, x):
    """Computes the gradients with respect to `x` and all weights."""
    variables = [weight.value for weight in layer.trainable_weights]
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = losses(*layer(x, mask=MASKS, training=True))
    return tape.gradient(loss, [x, *variables], unconnected_gradients="zero")


@pytest.mark.few(1)
@pytest.mark.parametrize("form", FORMS)
def test_gradient_is_that_of_autodiff(form, monkeypatch):
    layer, x = make(**FORMS[form]), tf.constant(batch())
    by_hand = gradients(layer, x)
    monkeypatch.setattr(tf, "custom_gradient", lambda f: lambda *arguments: f(*arguments)[0])
    expected = gradients(layer, x)
    names = ["inputs", *(weight.path for weight in layer.trainable_weights)]
    for name, got, wanted in zip(names, by_hand, expected, strict=True):
        assert_close(got, wanted, magnitude=max(1.0, np.abs(wanted).max()), name=name)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["paper", "released", "fixed ends"])
def test_gradient_is_that_of_finite_differences(form):
    layer = SLSTM(units=2, num_steps=3, **FORMS[form])
    layer.build([None, None, 2])
    rng = np.random.default_rng(3)
    for weight in layer.trainable_weights:
        weight.assign(0.7 * rng.normal(size=weight.shape))
    weights = slstm_oracle.arrays(layer)
    x, d_words, d_node = rng.normal(size=[3, 2]), rng.normal(size=[3, 2]), rng.normal(size=[1, 2])

    def loss():
        words, node = slstm_oracle.states(x, weights, layer.get_config())
        return (words * d_words).sum() + (node * d_node).sum()

    with tf.GradientTape() as tape:
        words, node = layer(x[None].astype("float32"), training=True)
        result = tf.reduce_sum(words[0] * d_words) + tf.reduce_sum(node[0] * d_node)
    by_hand = tape.gradient(result, [weight.value for weight in layer.trainable_weights])
    for weight, got in zip(layer.trainable_weights, by_hand, strict=True):
        expected = differences(loss, weights[weight.name])
        size = max(1.0, np.abs(expected).max())  # size of the summands, which cancel
        assert_close(got, expected, magnitude=size, name=weight.name)


def differences(loss, array, distance=1e-5):
    """Returns central differences for each element of `array`, which `loss` reads."""
    result = np.zeros_like(array)
    for position in np.ndindex(array.shape):
        value, ends = array[position], []
        for sign in (1, -1):
            array[position] = value + sign * distance
            ends.append(loss())
        array[position] = value
        result[position] = (ends[0] - ends[1]) / (2 * distance)
    return result


def test_masked_tokens_get_no_gradient():
    x = batch()
    d_inputs = gradients(make(), tf.constant(x))[0].numpy()
    assert (d_inputs[~MASKS] == 0.0).all() and (d_inputs[MASKS] != 0.0).all()


def test_gradient_in_low_precision_is_close_and_float32():
    exact, x = make(scale=0.3), tf.constant(batch())
    rough = SLSTM(units=UNITS, num_steps=3, dtype="mixed_bfloat16")
    rough.build([None, None, UNITS])
    rough.set_weights(exact.get_weights())
    for got, wanted in zip(gradients(rough, x), gradients(exact, x), strict=True):
        assert got.dtype == tf.float32
        assert_close(got, wanted, unit=BFLOAT16, terms=4)


@pytest.mark.slow
def test_xla_gives_the_same_states_and_gradients():
    layer, x = make(boundary="fixed"), tf.constant(batch())
    compiled = tf.function(lambda x: (layer(x, mask=MASKS), gradients(layer, x)), jit_compile=True)
    states, by_xla = compiled(x)
    for got, wanted in zip(states, layer(x, mask=MASKS), strict=True):
        assert_close(got, wanted)
    for got, wanted in zip(by_xla, gradients(layer, x), strict=True):
        assert_close(got, wanted, magnitude=max(1.0, np.abs(wanted).max()))


def test_neighbors_are_sums_at_offsets():
    x = tf.constant([[[1.0], [10.0], [100.0], [1000.0]]])
    groups = (-2, -1), (0,), (1, 2)
    left, own, right = (part.numpy()[0, :, 0] for part in slstm_steps.neighbors(x, groups))
    np.testing.assert_array_equal(left, [0, 1, 11, 110])
    np.testing.assert_array_equal(own, [1, 10, 100, 1000])
    np.testing.assert_array_equal(right, [110, 1100, 1000, 0])


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 1000.0])
def test_a_softmax_of_five_sigmoids_keeps_to_its_bounds(scale):
    """The cell states are the input and all states before the step, each with its weight."""
    cell = SLSTMCell(units=4, input_term="embedding")
    zeros, ones, node = tf.zeros([1, 3, 4]), tf.ones([1, 3, 4]), tf.zeros([1, 1, 4])
    cell(zeros, zeros, zeros, node, node)
    cell.bias.assign(np.random.default_rng(0).normal(size=cell.bias.shape) * scale)
    least, most = 1 / (1 + 4 * np.e), np.e / (np.e + 4)
    assert (round(least, 3), round(most, 3)) == (0.084, 0.405)
    cell.kernel.assign(tf.zeros_like(cell.kernel))
    _, of_input, _, _ = cell(ones, zeros, zeros, node, node)
    assert of_input.numpy().min() >= least - 1e-6 and of_input.numpy().max() <= most + 1e-6
    cell.recurrent_kernel.assign(tf.zeros_like(cell.recurrent_kernel))
    cell.sentence_kernel.assign(tf.zeros_like(cell.sentence_kernel))
    _, of_all, _, of_words = cell(ones, zeros, ones, node, node + 1.0)
    assert_close(of_all[:, 1], 1.0)  # the weights sum to 1
    assert_close(of_words, 1.0)


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["paper", "softmax of words"])
def test_large_weights_and_empty_sentences_overflow_nothing(form):
    layer = make(scale=1e4, **FORMS[form])
    x = tf.constant(batch())
    values = layer(x, mask=MASKS) + layer(x, mask=np.zeros_like(MASKS))
    for value in [*values, *gradients(layer, x)]:
        assert np.isfinite(value).all()
