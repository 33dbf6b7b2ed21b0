"""Hand-written gradient of the S-LSTM against autodiff and finite differences."""

import numpy as np
import pytest
import tensorflow as tf

from tests import oracles_slstm
from tests.closeness import BFLOAT16, assert_close
from tests.layers.test_slstm import FORMS, MASKS, UNITS, batch, make
from tfreps.layers import SLSTM


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


@pytest.mark.few(6)
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
@pytest.mark.parametrize("form", ["paper", "released", "spaGO"])
def test_gradient_is_that_of_finite_differences(form):
    layer = SLSTM(units=2, num_steps=3, **FORMS[form])
    layer.build([None, None, 2])
    rng = np.random.default_rng(3)
    for weight in layer.trainable_weights:
        weight.assign(0.7 * rng.normal(size=weight.shape))
    weights = {w.name: w.numpy().astype("float64") for w in layer.trainable_weights}
    x, d_words, d_node = rng.normal(size=[3, 2]), rng.normal(size=[3, 2]), rng.normal(size=[1, 2])

    def loss():
        words, node = oracles_slstm.slstm(x, weights, layer.get_config())
        return (words * d_words).sum() + (node * d_node).sum()

    with tf.GradientTape() as tape:
        words, node = layer(x[None].astype("float32"), training=True)
        result = tf.reduce_sum(words[0] * d_words) + tf.reduce_sum(node[0] * d_node)
    by_hand = tape.gradient(result, [weight.value for weight in layer.trainable_weights])
    for weight, got in zip(layer.trainable_weights, by_hand, strict=True):
        expected = differences(loss, weights[weight.name])
        assert_close(got, expected, name=weight.name)


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
