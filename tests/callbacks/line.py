"""A tiny model, its data and its checkpoints, for the tests of this folder."""

import keras
import numpy as np
import tensorflow as tf

from tfreps.callbacks import Checkpoints


class Line(keras.Model):
    """Linear model with dropout, whose mean squared error serves as a perplexity."""

    def __init__(self, units):
        super().__init__(name="model")
        self.drop = keras.layers.Dropout(0.5, seed=3)
        self.line = keras.layers.Dense(units, kernel_initializer="ones", name="line")
        self.line.build([None, 2])
        self.perplexity = keras.metrics.Mean(name="sampled_perplexity")
        self.built = True

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.line(self.drop(x, training=True)) - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        self.perplexity.update_state(loss)
        return {"sampled_perplexity": self.perplexity.result()}


def make_model(units=1, optimizer="adam"):
    model = Line(units)
    model.compile(optimizer)
    return model


def dataset(start=0):
    x = np.random.default_rng(0).normal(size=[64, 1, 2]).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x.sum(-1, keepdims=True))).skip(start).repeat()


def fit(model, steps, used, start=0, **options):
    options = {"epochs": 1, "verbose": 0, "shuffle": False, **options}
    model.fit(dataset(start), steps_per_epoch=steps, callbacks=used, **options)


def checkpoints_in(folder, **options):
    return Checkpoints(folder, lambda step: {"line": step}, **options)
