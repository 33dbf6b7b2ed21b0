"""Scores whose learning rate is multiplied by a factor, with any optimizer."""

import keras
import tensorflow as tf


def times(weights, rate):
    """Returns `rate * weights`; the gradient of the result is passed to the weights unscaled."""

    @tf.custom_gradient
    def scaled(weights):
        return weights * rate, lambda d: d

    weights = tf.convert_to_tensor(weights)
    return weights if rate == 1.0 else scaled(weights)


class ScoreRegularizer(keras.regularizers.Regularizer):
    """Regularizer that converts weights to scores, which it passes to another regularizer.

    It is a class because Keras 3.12 does not accept a plain function as a regularizer.
    """

    def __init__(self, regularizer, rate):
        self.regularizer = regularizer
        self.rate = rate

    def __call__(self, weights):
        return self.regularizer(times(weights, self.rate))
