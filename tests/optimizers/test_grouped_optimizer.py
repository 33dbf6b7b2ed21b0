"""Tests that each group is updated as by its own optimizer; saving and clipping."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.optimizers import FusedAdam, GroupedOptimizer

RNG = np.random.default_rng(0)


START = RNG.normal(size=(6, 3)).astype("float32")


GRADIENTS = [RNG.normal(size=(6, 3)).astype("float32") for _ in range(4)]


def sparse(gradient, rows):
    return tf.IndexedSlices(tf.constant(gradient[rows]), tf.constant(rows), [6, 3])


def network():
    inputs = keras.Input([3])
    hidden = keras.layers.Dense(4, name="encoder", kernel_initializer="ones")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(2, name="head")(hidden))
    x = RNG.normal(size=(8, 3)).astype("float32")
    return model, x, x[:, :2]


def grouped():
    """Returns an optimizer with momentum and one with two moments, so that both have variables."""
    small = keras.optimizers.SGD(0.01, momentum=0.9)
    return GroupedOptimizer(FusedAdam(0.1), {"encoder/": small})


def test_each_group_moves_as_under_its_own_optimizer():
    model, x, y = network()
    start = model.get_weights()
    optimizer = grouped()
    model.compile(optimizer, loss="mse")
    model.fit(x, y, epochs=3, batch_size=8, verbose=0, shuffle=False)
    together = model.get_weights()

    model.set_weights(start)
    small, large = keras.optimizers.SGD(0.01, momentum=0.9), FusedAdam(0.1)
    for _ in range(3):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x) - y))
        gradients = tape.gradient(loss, model.trainable_variables)
        small.apply(gradients[:2], model.trainable_variables[:2])
        large.apply(gradients[2:], model.trainable_variables[2:])
    for ours, expected in zip(together, model.get_weights(), strict=True):
        assert_close(ours, expected)
    assert int(optimizer.iterations) == 3
    assert [int(o.iterations) for o in optimizer.optimizers] == [3, 3]


@pytest.mark.slow
def test_a_saved_optimizer_goes_on_where_it_was(tmp_path):
    model, x, y = network()
    model.compile(grouped(), loss="mse")
    fit = {"epochs": 2, "batch_size": 8, "verbose": 0, "shuffle": False}
    model.fit(x, y, **fit)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert isinstance(loaded.optimizer, GroupedOptimizer)
    ours, theirs = model.optimizer.variables, loaded.optimizer.variables
    assert len(ours) == 1 + (2 + 2) + (2 + 4)  # iterations; each with iterations and rate
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)
    model.fit(x, y, **fit)
    loaded.fit(x, y, **fit)
    for a, b in zip(model.get_weights(), loaded.get_weights(), strict=True):
        assert_close(a, b)


def test_all_groups_are_clipped_together():
    sgd = keras.optimizers.SGD
    optimizer = GroupedOptimizer(sgd(1.0), {"one": sgd(0.1)}, global_clipnorm=1.0)
    optimizer = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(optimizer)
    )
    one, two = keras.Variable([0.0], name="one"), keras.Variable([0.0], name="two")
    optimizer.apply([tf.constant([30.0]), tf.constant([40.0])], [one, two])
    assert_close([one.numpy()[0], two.numpy()[0]], [-0.06, -0.8])


def test_rates_can_be_changed_by_callbacks(functions_run_eagerly):
    """Keras's scheduler changes the rates of all optimizers; in Keras 3.12, the default's only."""
    changes_all = hasattr(keras.callbacks.LearningRateScheduler, "_update_optimizer_lr")
    optimizer, (model, x, y) = grouped(), network()
    model.compile(optimizer, loss="mse")
    assert_close(float(optimizer.learning_rate), 0.1)
    halve = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    model.fit(x, y, epochs=2, verbose=0, callbacks=[halve])
    assert_close(float(optimizer.learning_rate), 0.025)
    of_group = float(optimizer.groups["encoder/"].learning_rate)
    assert_close(of_group, 0.0025 if changes_all else 0.01)
    optimizer.learning_rate = 0.5
    assert float(optimizer.default.learning_rate) == 0.5


def test_a_group_without_variables(functions_run_eagerly):
    optimizer, (model, x, y) = grouped(), network()
    optimizer = GroupedOptimizer(keras.optimizers.Adam(), {"bilm/": keras.optimizers.Adam()})
    model.compile(optimizer, loss="mse")
    with pytest.raises(
        ValueError, match="group 'bilm/' of `groups` matches no variable .*head/bias"
    ):
        model.fit(x, y, verbose=0)
    optimizer = GroupedOptimizer(
        keras.optimizers.Adam(), {"biLM": keras.optimizers.Adam()}, {"biLM": ["bilm/bias"]}
    )
    model.compile(optimizer, loss="mse")
    with pytest.raises(ValueError, match="`members` of the group 'biLM' must be .*; got bilm/b"):
        model.fit(x, y, verbose=0)
    members = {"biLM": ["encoder/bias", "encoder/bais"]}
    optimizer = GroupedOptimizer(
        keras.optimizers.Adam(), {"biLM": keras.optimizers.Adam()}, members
    )
    model.compile(optimizer, loss="mse")
    with pytest.raises(ValueError, match="group 'biLM' must be .*; got encoder/bais, but"):
        model.fit(x, y, verbose=0)
    with pytest.raises(ValueError, match="list variables of the `groups` a; got 'b'"):
        GroupedOptimizer(keras.optimizers.Adam(), {"a": keras.optimizers.SGD()}, {"b": []})


def test_a_group_of_listed_variables():
    """Paths must match completely: `one` does not match `one_more`."""
    sgd = keras.optimizers.SGD
    one, more = keras.Variable(0.0, name="one"), keras.Variable(0.0, name="one_more")
    optimizer = GroupedOptimizer(sgd(1.0), {"part": sgd(0.1)}, {"part": [one]})
    config = keras.saving.serialize_keras_object(optimizer)
    for each in (optimizer, keras.saving.deserialize_keras_object(config)):
        one.assign(0.0)
        more.assign(0.0)
        each.apply([tf.constant(1.0), tf.constant(1.0)], [one, more])
        assert_close([float(one), float(more)], [-0.1, -1.0])


@pytest.mark.slow
def test_grouped_under_float16_loss_scaling():
    try:
        keras.config.set_dtype_policy("mixed_float16")
        model, x, y = network()
    finally:
        keras.config.set_dtype_policy("float32")
    model.compile(grouped(), loss="mse")
    start = model.get_weights()
    model.fit(x, y, epochs=3, verbose=0)
    for old, new in zip(start, model.get_weights(), strict=True):
        assert np.isfinite(new).all() and (old != new).any()


REJECTED = {"clipnorm": 1.0, "use_ema": True, "weight_decay": 0.1, "learning_rate": 0.1}
REJECTED |= {"ema_momentum": 0.9, "ema_overwrite_frequency": 5}


@pytest.mark.parametrize("option", [{name: value} for name, value in REJECTED.items()], ids=str)
def test_options_of_members_are_rejected(option):
    (name,) = option
    with pytest.raises(
        ValueError, match=f"`{name}` must be passed to `default` and the optimizers"
    ):
        GroupedOptimizer(FusedAdam(1e-3), {"bilm": FusedAdam(1e-4)}, **option)
