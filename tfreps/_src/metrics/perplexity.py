"""Perplexity: exponential of the mean loss per token, over all batches."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.metrics.tag_pairs import TensorLike


@keras.saving.register_keras_serializable(package="tfreps")
class Perplexity(keras.metrics.Metric):
    """Perplexity over all tokens, independent of how they were batched.

        perplexity = exp(sum of negative log-likelihoods / number of tokens)

    The exponential of Keras's logged loss is not the same, because Keras averages batch losses.

    Args:
        name: str. Name of the metric. Defaults to `"perplexity"`.
        dtype: str. Dtype of the metric. If `None` (the default), it is `keras.config.floatx()`.

    Example:
    >>> metric = Perplexity()
    >>> metric.update_state([0.0, 2.0, 9.0], mask=[True, True, False])
    >>> round(float(metric.result()), 4)
    2.7183
    """

    def __init__(self, name: str = "perplexity", dtype: str | None = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        # The sums are float64, because a float32 count cannot exceed 2^24 tokens.
        options = {"shape": (), "initializer": "zeros", "dtype": "float64"}
        self.total: keras.Variable = self.add_variable(name="nll", **options)
        self.count: keras.Variable = self.add_variable(name="tokens", **options)

    def update_state(self, nll: TensorLike, mask: TensorLike | None = None) -> None:
        """Adds the tokens of a batch.

        Args:
            nll: float, any shape. Negative log-likelihood of each token in nats.
            mask: bool, same shape as `nll`. True on tokens that count. If `None` (the default), all
                tokens count.
        """
        losses = tf.cast(tf.convert_to_tensor(nll), "float64")
        counted = tf.ones_like(losses)
        if mask is not None:
            counted = tf.cast(tf.convert_to_tensor(mask), "float64")
        self.total.assign_add(tf.reduce_sum(tf.where(counted > 0, losses, 0.0)))
        self.count.assign_add(tf.reduce_sum(counted))

    def result(self) -> tf.Tensor:
        """Returns the perplexity, a float32 scalar, which is NaN before the first token."""
        mean = tf.convert_to_tensor(self.total) / tf.convert_to_tensor(self.count)
        return tf.cast(tf.exp(mean), "float32")
