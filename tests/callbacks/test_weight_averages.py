"""Tests averages against a plain loop; evaluation and saving use them, training does not."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.callbacks import WeightAverages
from tfreps.optimizers import GroupedOptimizer

pytestmark = pytest.mark.usefixtures("eager_if_quick")

X = np.random.default_rng(0).normal(size=[12, 2]).astype("float32")
DATA = tf.data.Dataset.from_tensor_slices((X, X.sum(-1, keepdims=True))).batch(4)


def sgd(average):
    more = {"use_ema": True, "ema_momentum": 0.75} if average else {}
    return keras.optimizers.SGD(0.2, **more)


def train(optimizer, callbacks=(), epochs=2):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1, name="line")])
    model.compile(optimizer, "mse")
    fit = {"epochs": epochs, "verbose": 0, "shuffle": False}
    history = model.fit(DATA, validation_data=DATA, callbacks=[*callbacks], **fit).history
    return model, history


class Kept(keras.callbacks.Callback):
    """Callback that records the weights after every batch."""

    def on_train_begin(self, logs=None):
        self.kernels = []

    def on_train_batch_end(self, batch, logs=None):
        self.kernels.append(self.model.layers[-1].kernel.numpy())


@pytest.mark.few(1)
@pytest.mark.parametrize("grouped", [False, True])
def test_measured_and_saved_with_averages_and_trained_without(grouped):
    kept, saved = Kept(), []
    averages = WeightAverages(lambda model: saved.append(model.layers[-1].kernel.numpy()))
    optimizer = GroupedOptimizer(sgd(True), {"bias": sgd(True)} if grouped else {})
    model, history = train(optimizer, [kept, averages])
    plain, other = train(sgd(False))
    np.testing.assert_array_equal(model.layers[-1].kernel, plain.layers[-1].kernel)
    assert history["loss"] == other["loss"] and history["val_loss"] != other["val_loss"]

    average = kept.kernels[0]
    for kernel in kept.kernels[1:]:
        average = 0.75 * average + 0.25 * kernel
    averages.save(model)
    assert_close(saved[0], average)
    np.testing.assert_array_equal(model.layers[-1].kernel, plain.layers[-1].kernel)


def test_the_weights_come_back_when_saving_fails():
    def save(model):
        raise OSError("No space left on device")

    averages = WeightAverages(save)
    model, _ = train(GroupedOptimizer(sgd(True), {}), [averages])
    before = model.layers[-1].kernel.numpy()
    with pytest.raises(OSError):
        averages.save(model)
    np.testing.assert_array_equal(model.layers[-1].kernel, before)
