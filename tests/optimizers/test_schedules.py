"""Tests learning rates by value and inside an optimizer, and errors."""

import keras
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.optimizers import LinearWarmup, ReducibleLearningRate


def rates(schedule, count):
    return [float(schedule(tf.constant(step, "int64"))) for step in range(count)]


def rates_of(optimizer, count):
    """Returns the learning rates of the first steps of an optimizer."""
    found = []
    for step in range(count):
        optimizer.iterations.assign(step)
        found.append(float(optimizer.learning_rate))
    return found


def test_rates():
    found = rates(LinearWarmup(2.0, total_steps=8, warmup_steps=4), 10)
    assert_close(found, [0.5, 1.0, 1.5, 2.0, 2.0, 1.5, 1.0, 0.5, 0, 0])
    found = rates(LinearWarmup(1.0, total_steps=4), 5)
    assert_close(found, [1, 0.75, 0.5, 0.25, 0])
    found = rates(LinearWarmup(1.0, warmup_steps=2), 4)
    assert_close(found, [0.5, 1, 1, 1])
    assert rates(LinearWarmup(3.0), 2) == [3.0, 3.0]
    found = rates(LinearWarmup(1.0, total_steps=29), 5)  # a warm-up of 2 steps
    assert_close(found, [0.5, 1, 1, 26 / 27, 25 / 27])


def test_in_an_optimizer_that_gathers_gradients_steps_are_batches():
    schedule = LinearWarmup(1.0, total_steps=4)
    optimizer = keras.optimizers.SGD(schedule, gradient_accumulation_steps=2)
    weight = keras.Variable(0.0)
    for _ in range(4):
        optimizer.apply([tf.constant(1.0)], [weight])
    assert_close(weight.numpy(), -(0.75 + 0.25))


def test_comes_back_from_its_config():
    schedule = LinearWarmup(1.0, 10, 3)
    optimizer = keras.optimizers.Adam(schedule)
    loaded = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert loaded.get_config() == optimizer.get_config()
    assert rates_of(loaded, 12) == rates(schedule, 12)
    name = keras.saving.get_registered_name(LinearWarmup)
    assert name == "tfreps>LinearWarmup"


@pytest.mark.parametrize("options", [(0.0,), (1.0, 5, 5), (1.0, 5, -1), (-1.0, 5)])
def test_options_out_of_range(options):
    with pytest.raises(ValueError, match="must be a"):
        LinearWarmup(*options)


def test_one_factor_cuts_several_rates_in_mid_training():
    scale = tf.Variable(1.0)
    optimizers = [
        keras.optimizers.SGD(ReducibleLearningRate(0.1, scale)),
        keras.optimizers.SGD(ReducibleLearningRate(LinearWarmup(1.0, 10, 0), scale)),
    ]
    weights = [keras.Variable(0.0), keras.Variable(0.0)]

    @tf.function
    def update():
        for optimizer, weight in zip(optimizers, weights, strict=True):
            optimizer.apply([tf.constant(-1.0)], [weight])

    update()
    scale.assign(0.5)
    update()
    found = [float(weight) for weight in weights]
    assert_close(found, [0.1 + 0.05, 1.0 + 0.45])
    assert_close(float(optimizers[0].learning_rate), 0.05)


@pytest.mark.parametrize("rate", [0.2, LinearWarmup(0.2, 8, 4)])
def test_a_reduced_rate_comes_back_from_its_config(rate):
    optimizer = keras.optimizers.Adam(ReducibleLearningRate(rate, 0.25))
    loaded = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert loaded.get_config() == optimizer.get_config()
    assert_close(rates_of(loaded, 6), rates(ReducibleLearningRate(rate, 0.25), 6))
