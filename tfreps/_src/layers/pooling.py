"""Pooling: combines the token vectors of a text into one vector."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_integers
from tfreps._src.layers.ops.annotations import PoolingKind, Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.masks import full_mask
from tfreps._src.layers.ops.matmul import matmul

POOLINGS = "mean", "max", "mean_max", "mean_sqrt", "attention", "first"


@keras.saving.register_keras_serializable(package="tfreps")
class Pooling(Configurable, keras.layers.Layer):
    """Pooling layer that combines the real tokens of each text into one vector.

        "mean":       y = sum_t h_t / n                       over the n real tokens
        "max":        y = max_t h_t                           per dimension
        "mean_max":   y = [mean, max]
        "mean_sqrt":  y = sum_t h_t / sqrt(n)
        "attention":  e_t = tanh(h_t @ kernel + bias)
                      a = softmax_t(e_t @ query),  y = sum_t a_t h_t
        "first":      y = h_t of the first real token

    Here `h_t` is the vector of token `t`; `kernel`, `bias` and `query` are learned.

    Args:
        pooling: str. One of `"mean"`, `"max"`, `"mean_max"`, `"mean_sqrt"`, `"attention"` and
            `"first"`. Defaults to `"mean"`.
        attention_units: int. Width of `e_t`. If `None`, the width of `h_t` is used. Has an effect
            only with `pooling="attention"`. Defaults to `None`.

    Call arguments:
        inputs: float, shape `[B, T, D]`.
        mask: bool, shape `[B, T]`. True on real tokens, which may be at any position. If `None`,
            all tokens are real.

    Returns:
        float32, shape `[B, D]`, or `[B, 2D]` for `"mean_max"`.

    Masking: values on padding, including NaN, are ignored. A text without tokens gives zeros.

    Raises:
        ValueError: If `pooling` is unknown, `attention_units` is below 1, or `mask` has the wrong
            shape.

    Reference: Zhang, Liu and Song, 2018, "Sentence-State LSTM for Text Representation", for
    attention; Cer et al., 2018, "Universal Sentence Encoder", for `"mean_sqrt"`.

    Example:
    >>> sequence = tf.constant([[[1.0, 6.0], [3.0, 2.0], [9.0, 9.0]]])        # [1, 3, 2]
    >>> Pooling("mean_max")(sequence, mask=tf.constant([[True, True, False]])).numpy().tolist()
    [[2.0, 4.0, 3.0, 6.0]]
    """

    def __init__(
        self, pooling: PoolingKind = "mean", attention_units: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_choice(POOLINGS, pooling=pooling)
        check_integers(1, attention_units=attention_units, or_none=True)
        self.pooling = pooling
        self.attention_units = attention_units
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        if self.pooling != "attention":
            return
        dim = input_shape[-1]
        units = self.attention_units or dim
        self.kernel = self._add("kernel", (dim, units), "glorot_uniform")
        self.bias = self._add("bias", (units,), "zeros")
        normal = keras.initializers.RandomNormal(stddev=units**-0.5)
        self.query = self._add("query", (units,), normal)

    def call(self, inputs: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor:
        x = tf.cast(inputs, "float32")
        mask = full_mask(mask, x)
        x = tf.where(tf.expand_dims(mask, -1), x, 0.0)  # [B, T, D]
        if self.pooling == "mean":
            return _mean(x, mask)
        if self.pooling == "max":
            return _max(x, mask)
        if self.pooling == "mean_max":
            return tf.concat([_mean(x, mask), _max(x, mask)], axis=-1)  # [B, 2D]
        if self.pooling == "mean_sqrt":
            return _mean(x, mask, power=0.5)
        if self.pooling == "first":
            return _weighted_sum(x, _first(mask))
        return _weighted_sum(x, self._attention(x, mask))

    def _attention(self, x, mask):
        """Computes the weights `a` of a built layer: float32 `[B, T]`, 0 on padding."""
        flat = tf.reshape(x, [-1, self.kernel.shape[0]])  # [B*T, D]
        bias, query = (tf.cast(weight, "float32") for weight in (self.bias, self.query))
        hidden = tf.tanh(matmul(flat, self.kernel, self.compute_dtype) + bias)
        scores = tf.linalg.matvec(hidden, query)
        scores = tf.reshape(scores, tf.shape(mask))  # [B, T]
        lowest = tf.fill(tf.shape(mask), scores.dtype.min)
        return tf.where(mask, tf.nn.softmax(tf.where(mask, scores, lowest)), 0.0)

    def compute_mask(self, inputs: tf.Tensor, previous_mask: tf.Tensor | None) -> None:
        return None  # the output has no token axis

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        dim = input_shape[-1]
        return (input_shape[0], 2 * dim if self.pooling == "mean_max" else dim)


def _mean(x, mask, power=1.0):
    count = tf.reduce_sum(tf.cast(mask, "float32"), axis=1, keepdims=True)  # [B, 1]
    return tf.reduce_sum(x, axis=1) / tf.maximum(count, 1.0) ** power  # [B, D]


def _max(x, mask):
    """Returns the maximum per dimension, `[B, D]`, 0 for a text without tokens; `T` may be 0."""
    x = tf.where(tf.expand_dims(mask, -1), x, x.dtype.min)
    lowest = tf.fill([tf.shape(x)[0], 1, x.shape[-1]], x.dtype.min)
    y = tf.reduce_max(tf.concat([x, lowest], axis=1), axis=1)  # [B, D]
    return tf.where(tf.reduce_any(mask, axis=1, keepdims=True), y, 0.0)


def _first(mask):
    """Returns 1 on the first real token, else 0: float32 `[B, T]`."""
    number = tf.cumsum(tf.cast(mask, "int32"), axis=1)
    return tf.cast(tf.logical_and(mask, number == 1), "float32")


def _weighted_sum(x, weights):
    return tf.einsum("bt,btd->bd", weights, x)  # [B, D]
