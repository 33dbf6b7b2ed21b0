"""Perplexity over tokens, however they were batched."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="tfreps")
class Perplexity(keras.metrics.Metric):
    """Perplexity over all tokens seen, however they were batched.

        perplexity = exp(sum of NLL / number of tokens)

    Keras averages a logged loss over batches, so it is no substitute.

    Update arguments:
        nll: float, any shape. Negative log-likelihood of each token in nats.
        mask: bool, same shape, True on tokens that count; None for all.

    Result: float32 scalar; NaN before the first token.

    Example:
    >>> metric = Perplexity()
    >>> metric.update_state([0.0, 2.0, 9.0], mask=[True, True, False])
    >>> round(float(metric.result()), 4)
    2.7183
    """

    def __init__(self, name="perplexity", dtype=None, **kwargs):
        super().__init__(name=name, dtype=dtype, **kwargs)
        # Doubles: a float32 sum stops counting at 2^24 tokens.
        options = {"shape": (), "initializer": "zeros", "dtype": "float64"}
        self.total = self.add_variable(name="nll", **options)
        self.count = self.add_variable(name="tokens", **options)

    def update_state(self, nll, mask=None):
        nll = tf.cast(nll, "float64")
        mask = tf.ones_like(nll) if mask is None else tf.cast(mask, "float64")
        self.total.assign_add(tf.reduce_sum(tf.where(mask > 0, nll, 0.0)))
        self.count.assign_add(tf.reduce_sum(mask))

    def result(self):
        mean = tf.convert_to_tensor(self.total) / tf.convert_to_tensor(self.count)
        return tf.cast(tf.exp(mean), "float32")
