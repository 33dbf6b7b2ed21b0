"""Tests TF1Adagrad: the formula, TensorFlow 1's own optimizer, schedules, clipping."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import oracles
from tests.closeness import assert_close
from tfreps.optimizers import TF1Adagrad

RNG = np.random.default_rng(0)


START = RNG.normal(size=(6, 3)).astype("float32")


GRADIENTS = [RNG.normal(size=(6, 3)).astype("float32") for _ in range(4)]


def sparse(gradient, rows):
    return tf.IndexedSlices(tf.constant(gradient[rows]), tf.constant(rows), [6, 3])


@pytest.mark.parametrize("rows", [None, [4, 1, 3]])
def test_adagrad_is_the_formula(rows):
    """A sparse gradient is a dense one with zeros: rows that are not in it do not change."""
    weight, optimizer = keras.Variable(START), TF1Adagrad(learning_rate=0.3)
    expected, accumulators = {"w": START.astype(float)}, {"w": np.ones([6, 3])}
    for gradient in GRADIENTS:
        given = tf.constant(gradient) if rows is None else sparse(gradient, rows)
        optimizer.apply([given], [weight])
        dense = gradient if rows is None else np.zeros_like(gradient)
        if rows is not None:
            dense[rows] = gradient[rows]
        expected |= oracles.adagrad(expected, accumulators, {"w": dense}, 0.3)
    assert_close(weight, expected["w"])
    assert_close(optimizer._accumulators[0], accumulators["w"])
    assert int(optimizer.iterations) == 4


def test_adagrad_is_tensorflow_1s():
    weight, optimizer = keras.Variable(START), TF1Adagrad()
    for gradient in GRADIENTS:
        optimizer.apply([tf.constant(gradient)], [weight])
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        theirs = tf.compat.v1.get_variable("w", initializer=START)
        fed = tf.compat.v1.placeholder("float32", [6, 3])
        adagrad = tf.compat.v1.train.AdagradOptimizer(0.2, initial_accumulator_value=1.0)
        update = adagrad.apply_gradients([(fed, theirs)])
        session.run(tf.compat.v1.global_variables_initializer())
        for gradient in GRADIENTS:
            session.run(update, {fed: gradient})
        expected = session.run(theirs)
    assert_close(weight, expected)


def test_adagrad_has_no_epsilon():
    weight = keras.Variable([1.0])
    optimizer = TF1Adagrad(learning_rate=0.5, initial_accumulator_value=1e-30)
    optimizer.apply([tf.constant([1e-8])], [weight])
    assert_close(float(weight.numpy()[0]), 0.5)


def test_adagrad_follows_a_schedule():
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([0], [0.5, 0.0])
    weight, optimizer = keras.Variable(START), TF1Adagrad(schedule)
    optimizer.apply([tf.constant(GRADIENTS[0])], [weight])
    after = weight.numpy()
    assert (after != START).any()
    optimizer.apply([tf.constant(GRADIENTS[1])], [weight])
    np.testing.assert_array_equal(weight, after)


def test_adagrad_with_keras_own_clip():
    weight, optimizer = keras.Variable(START), TF1Adagrad(global_clipnorm=0.5)
    optimizer.apply([tf.constant(GRADIENTS[0])], [weight])
    clipped, _ = oracles.clip_by_global_norm({"w": GRADIENTS[0]}, 0.5)
    expected = oracles.adagrad({"w": START}, {"w": np.ones([6, 3])}, clipped)
    assert_close(weight, expected["w"])


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_adagrad_needs_a_positive_accumulator(value):
    with pytest.raises(ValueError, match=f"must be above 0; got {value}"):
        TF1Adagrad(initial_accumulator_value=value)


def test_adagrad_comes_back_from_its_config():
    optimizer = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(TF1Adagrad(0.3, 2.0))
    )
    assert isinstance(optimizer, TF1Adagrad)
    assert optimizer.initial_accumulator_value == 2.0
    assert_close(float(optimizer.learning_rate), 0.3)
