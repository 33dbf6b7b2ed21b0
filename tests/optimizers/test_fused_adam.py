"""Tests FusedAdam against the formula and Keras's own Adam."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import FLOAT32, assert_close
from tfreps.optimizers import FusedAdam

RNG = np.random.default_rng(0)


START = RNG.normal(size=(6, 3)).astype("float32")


GRADIENTS = [RNG.normal(size=(6, 3)).astype("float32") for _ in range(4)]


def sparse(gradient, rows):
    return tf.IndexedSlices(tf.constant(gradient[rows]), tf.constant(rows), [6, 3])


@pytest.mark.parametrize("rows", [None, [4, 1, 4]])
def test_adam_is_the_formula(rows):
    """A row that occurs twice in a sparse gradient gets the sum, and all moments decay."""
    weight, optimizer = keras.Variable(START), FusedAdam(0.1, beta_1=0.8, epsilon=1e-3)
    expected, m, v = START.astype(float), np.zeros([6, 3]), np.zeros([6, 3])
    for t, gradient in enumerate(GRADIENTS, start=1):
        given, dense = tf.constant(gradient), gradient
        if rows is not None:
            given, dense = sparse(gradient, rows), np.zeros_like(gradient)
            np.add.at(dense, rows, gradient[rows])
        optimizer.apply([given], [weight])
        m, v = 0.8 * m + 0.2 * dense, 0.999 * v + 0.001 * dense**2
        rate = 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.8**t)
        expected = expected - rate * m / (np.sqrt(v) + 1e-3)
    assert_close(weight, expected)


def make_step(optimizer, weight):
    return lambda gradient: optimizer.apply([gradient], [weight])


@pytest.mark.parametrize("graph", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight_decay": 0.1, "global_clipnorm": 0.5},
        {"gradient_accumulation_steps": 2},
    ],
)
def test_adam_is_keras_own(options, graph):
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    found = []
    for kind in FusedAdam, keras.optimizers.Adam:
        weight, optimizer = keras.Variable(START), kind(rate, **options)
        optimizer.build([weight])
        step = make_step(optimizer, weight)
        for gradient in GRADIENTS:
            (tf.function(step) if graph else step)(tf.constant(gradient))
        found.append([weight.numpy(), *(variable.numpy() for variable in optimizer.variables)])
    assert (found[0][0] != START).all()
    for ours, theirs in zip(*found, strict=True):
        # In float32, 1 - 0.999 loses three digits, which Keras computes in one of two ways.
        assert_close(ours, theirs, terms=1, unit=FLOAT32 / (1 - 0.999))


def test_averages_forget_the_first_weights():
    """The momentum is n / (n + 9) after n updates, up to `ema_momentum`."""
    weight, optimizer = keras.Variable(START), FusedAdam(0.1, use_ema=True, ema_momentum=0.15)
    average = np.zeros([6, 3])
    for gradient, momentum in zip(GRADIENTS, [0.0, 1 / 10, 0.15, 0.15], strict=True):
        optimizer.apply([tf.constant(gradient)], [weight])
        average = momentum * average + (1 - momentum) * weight.numpy()
        (kept,) = (variable for variable in optimizer.variables if "average" in variable.path)
        assert_close(kept, average)


def test_adam_comes_back_from_its_config():
    optimizer = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(FusedAdam(0.3, beta_1=0.5, weight_decay=0.1))
    )
    assert isinstance(optimizer, FusedAdam)
    assert (optimizer.beta_1, optimizer.weight_decay) == (0.5, 0.1)
    with pytest.raises(ValueError, match="`amsgrad` must be False for FusedAdam"):
        FusedAdam(amsgrad=True)
