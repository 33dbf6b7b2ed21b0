"""TF1Adagrad and FusedAdam against their formulas and others'; GroupedOptimizer inside fit."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import oracles
from tfreps.optimizers import FusedAdam, GroupedOptimizer, TF1Adagrad

RNG = np.random.default_rng(0)
START = RNG.normal(size=(6, 3)).astype("float32")
GRADIENTS = [RNG.normal(size=(6, 3)).astype("float32") for _ in range(4)]


def sparse(gradient, rows):
    return tf.IndexedSlices(tf.constant(gradient[rows]), tf.constant(rows), [6, 3])


@pytest.mark.parametrize("rows", [None, [4, 1, 3]])
def test_adagrad_is_the_formula(rows):
    """A sparse gradient is a dense one with zeros: rows not named stay as they are."""
    weight, optimizer = keras.Variable(START), TF1Adagrad(learning_rate=0.3)
    expected, accumulators = {"w": START.astype(float)}, {"w": np.ones([6, 3])}
    for gradient in GRADIENTS:
        given = tf.constant(gradient) if rows is None else sparse(gradient, rows)
        optimizer.apply([given], [weight])
        dense = gradient if rows is None else np.zeros_like(gradient)
        if rows is not None:
            dense[rows] = gradient[rows]
        expected |= oracles.adagrad(expected, accumulators, {"w": dense}, 0.3)
    np.testing.assert_allclose(weight, expected["w"], atol=1e-6)
    np.testing.assert_allclose(optimizer.accumulators[0], accumulators["w"], rtol=1e-6)
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
    np.testing.assert_allclose(weight, expected, atol=1e-7)


def test_adagrad_has_no_epsilon():
    weight = keras.Variable([1.0])
    optimizer = TF1Adagrad(learning_rate=0.5, initial_accumulator_value=1e-30)
    optimizer.apply([tf.constant([1e-8])], [weight])
    assert float(weight.numpy()[0]) == pytest.approx(0.5, rel=1e-5)


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
    np.testing.assert_allclose(weight, expected["w"], atol=1e-6)


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_adagrad_needs_a_positive_accumulator(value):
    with pytest.raises(ValueError, match=f"must be positive; got {value}"):
        TF1Adagrad(initial_accumulator_value=value)


def test_adagrad_comes_back_from_its_config():
    optimizer = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(TF1Adagrad(0.3, 2.0))
    )
    assert isinstance(optimizer, TF1Adagrad)
    assert optimizer.initial_accumulator_value == 2.0
    assert float(optimizer.learning_rate) == pytest.approx(0.3)


@pytest.mark.parametrize("rows", [None, [4, 1, 4]])
def test_adam_is_the_formula(rows):
    """A row that a sparse gradient names twice gets the sum of both, and all moments decay."""
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
    np.testing.assert_allclose(weight, expected, atol=1e-6)


def make_step(optimizer, weight):
    return lambda gradient: optimizer.apply([gradient], [weight])


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight_decay": 0.1, "global_clipnorm": 0.5},
        {"use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 2},
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
        # 1 - 0.999 is 5e-5 of itself too large in float32, which Keras has in one place of two.
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_adam_comes_back_from_its_config():
    optimizer = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(FusedAdam(0.3, beta_1=0.5, weight_decay=0.1))
    )
    assert isinstance(optimizer, FusedAdam)
    assert (optimizer.beta_1, optimizer.weight_decay) == (0.5, 0.1)
    with pytest.raises(ValueError, match="`amsgrad` is not for FusedAdam"):
        FusedAdam(amsgrad=True)


def network():
    inputs = keras.Input([3])
    hidden = keras.layers.Dense(4, name="encoder", kernel_initializer="ones")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(2, name="head")(hidden))
    x = RNG.normal(size=(8, 3)).astype("float32")
    return model, x, x[:, :2]


def grouped():
    """One optimiser with momentum and one with two moments, so that both have variables."""
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
        np.testing.assert_allclose(ours, expected, atol=1e-6)
    assert int(optimizer.iterations) == 3
    assert [int(o.iterations) for o in optimizer.optimizers] == [3, 3]


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
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_all_groups_are_clipped_together():
    sgd = keras.optimizers.SGD
    optimizer = GroupedOptimizer(sgd(1.0), {"one": sgd(0.1)}, global_clipnorm=1.0)
    optimizer = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(optimizer)
    )
    one, two = keras.Variable([0.0], name="one"), keras.Variable([0.0], name="two")
    optimizer.apply([tf.constant([30.0]), tf.constant([40.0])], [one, two])
    np.testing.assert_allclose([one.numpy()[0], two.numpy()[0]], [-0.06, -0.8], rtol=1e-6)


def test_rates_can_be_changed_by_callbacks():
    """Keras's scheduler changes each optimiser's, Keras 3.12's the default's alone."""
    changes_all = hasattr(keras.callbacks.LearningRateScheduler, "_update_optimizer_lr")
    optimizer, (model, x, y) = grouped(), network()
    model.compile(optimizer, loss="mse")
    assert float(optimizer.learning_rate) == pytest.approx(0.1)
    halve = keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate / 2)
    model.fit(x, y, epochs=2, verbose=0, callbacks=[halve])
    assert float(optimizer.learning_rate) == pytest.approx(0.025)
    of_group = float(optimizer.groups["encoder/"].learning_rate)
    assert of_group == pytest.approx(0.0025 if changes_all else 0.01)
    optimizer.learning_rate = 0.5
    assert float(optimizer.default.learning_rate) == 0.5


def test_a_group_without_variables():
    optimizer, (model, x, y) = grouped(), network()
    optimizer = GroupedOptimizer(keras.optimizers.Adam(), {"bilm/": keras.optimizers.Adam()})
    model.compile(optimizer, loss="mse")
    with pytest.raises(ValueError, match="No variable's path has a part like 'bilm/'.*head/bias"):
        model.fit(x, y, verbose=0)


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
