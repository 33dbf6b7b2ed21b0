"""SelfAttention: multi-head self-attention with one fused query-key-value kernel."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_dropout, check_integers
from tfreps._src.layers.ops.annotations import Initializer, Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.initializers import new_initializer
from tfreps._src.layers.ops.lora_dense import LoraDense
from tfreps._src.layers.ops.masks import as_mask
from tfreps._src.layers.ops.matmul import dense_of_tokens


@keras.saving.register_keras_serializable(package="tfreps")
class SelfAttention(Configurable, keras.layers.Layer):
    """Multi-head scaled dot-product self-attention, with `H` heads of width `d = D / H`.

        q, k, v = split(x @ query_key_value_kernel + query_key_value_bias)      each [T, D]
        a_h = softmax_j(q_h[i] . k_h[j] / sqrt(d))          over the real tokens j
        y[i] = concat_h(sum_j dropout(a_h)[i, j] * v_h[j]) @ combine_kernel + combine_bias

    The fused kernel is `[query | key | value]`, the concatenation along axis 1 of three kernels
    of shape `[D, D]`. As in BERT, the columns of each head are adjacent.

    Args:
        num_heads: int. Number of attention heads, which must divide the width of the inputs.
        causal: bool. If True, a token attends only to itself and to earlier tokens. Defaults to
            False.
        dropout: float in [0, 1). Dropout rate of the attention probabilities. Defaults to 0.0.
        kernel_initializer: str, config or Keras initializer of the kernels. If `None`, it is a
            truncated normal distribution with a standard deviation of 0.02, as in BERT. Defaults
            to `"glorot_uniform"`.
        seed: int. Random seed for dropout. If `None`, a random seed is used. Defaults to `None`.

    Call arguments:
        inputs: float, shape `[B, T, D]`.
        mask: bool, shape `[B, T]`. True on real tokens, which may be at any position. If `None`,
            all tokens are real.
        training: bool. Whether to apply dropout. Defaults to `False`.
        return_attention: bool. Whether to return the attention probabilities as well. Defaults
            to `False`.

    Returns:
        `y`: float32, shape `[B, T, D]`, zero on padding. If `return_attention` is True, the result
        is a tuple `(y, a)`. `a` is float32, shape `[B, H, T, T]` (from, to): the attention
        probabilities before dropout, with zeros in the rows and columns of padding.

    Masking: values on padding, including NaN, are ignored. For a text without tokens, the results
    are zero. The softmax is computed in float32 under every dtype policy.

    Raises:
        ValueError: If an option is out of range, `num_heads` does not divide the width of the
            inputs, or `mask` has the wrong shape.

    Reference: Vaswani et al., 2017, "Attention Is All You Need", section 3.2.

    Example:
    >>> attention, mask = SelfAttention(num_heads=2), tf.sequence_mask([5, 2], 5)
    >>> y, a = attention(tf.ones([2, 5, 8]), mask=mask, return_attention=True)
    >>> y.shape, a[1, 0, 0].numpy().round(3).tolist()
    (TensorShape([2, 5, 8]), [0.5, 0.5, 0.0, 0.0, 0.0])
    """

    def __init__(
        self,
        num_heads: int,
        causal: bool = False,
        dropout: float = 0.0,
        kernel_initializer: Initializer | None = "glorot_uniform",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_integers(1, num_heads=num_heads)
        check_dropout(dropout=dropout)
        self.num_heads = num_heads
        self.causal = causal
        self.dropout = dropout
        self.kernel_initializer = kernel_initializer
        self.seed = seed
        self.drop = keras.layers.Dropout(dropout, seed=seed, dtype="float32", name="drop")
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        dim = input_shape[-1]
        if dim % self.num_heads:
            raise ValueError(
                f"`num_heads` must divide the width of the inputs; got {self.num_heads} heads "
                f"for inputs of width {dim}."
            )
        self.query_key_value = built_dense(self, "query_key_value", dim, 3 * dim)
        self.combine = built_dense(self, "combine", dim, dim)

    def call(
        self,
        inputs: tf.Tensor,
        mask: tf.Tensor | None = None,
        training: bool = False,
        return_attention: bool = False,
    ) -> tf.Tensor | tuple[tf.Tensor, tf.Tensor]:
        x = tf.cast(inputs, "float32")
        mask = as_mask(mask, x)
        if mask is not None:
            x = tf.where(tf.expand_dims(mask, -1), x, 0.0)  # [B, T, D]
        y, probabilities = self._attend(x, mask, training, return_attention)
        if mask is not None:
            y = tf.where(tf.expand_dims(mask, -1), y, 0.0)
        return (y, probabilities) if return_attention else y

    def _attend(self, x, mask, training=False, return_attention=False):
        """Computes attention without zeroing `y` on padding, for layers that zero it themselves.

        `x` is float32 `[B, T, D]` and must be finite, also on padding. Returns `y`, undefined on
        padding, and the attention probabilities, which are `None` without `return_attention`.
        """
        query, key, value = self._split_heads(dense_of_tokens(self.query_key_value, x))
        query *= (x.shape[-1] // self.num_heads) ** -0.5
        scores = tf.cast(tf.matmul(query, key, transpose_b=True), "float32")  # [B, H, T, T]
        forbidden = self._forbidden(mask, tf.shape(x)[1])
        if forbidden is not None:  # a finite minimum avoids NaN in a row without tokens
            scores += tf.where(forbidden, scores.dtype.min, 0.0)
        probabilities = tf.nn.softmax(scores)
        dropped = tf.cast(self.drop(probabilities, training=training), value.dtype)
        y = tf.transpose(tf.matmul(dropped, value), [0, 2, 1, 3])  # [B, T, H, d]
        y = tf.cast(dense_of_tokens(self.combine, tf.reshape(y, tf.shape(x))), "float32")
        y = tf.ensure_shape(y, x.shape)
        if not return_attention:
            return y, None
        if mask is not None:
            pairs = mask[:, None, :, None] & mask[:, None, None, :]  # [B, 1, T, T]
            probabilities = tf.where(pairs, probabilities, 0.0)
        return y, probabilities

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return input_shape

    def compute_output_spec(
        self,
        inputs: keras.KerasTensor,
        mask: tf.Tensor | None = None,
        training: bool = False,
        return_attention: bool = False,
    ) -> Any:
        return attention_spec(self, inputs, return_attention)

    def _split_heads(self, x):
        """Splits `[B, T, 3D]` into the query, key and value of each head, each `[B, H, T, d]`."""
        batch, length = tf.unstack(tf.shape(x)[:2])
        head_dim = x.shape[-1] // (3 * self.num_heads)
        x = tf.reshape(x, [batch, length, 3, self.num_heads, head_dim])
        return tf.unstack(tf.transpose(x, [2, 0, 3, 1, 4]))

    def _forbidden(self, mask, length):
        """Returns a bool tensor, True for forbidden pairs of tokens, or `None` if all are allowed.

        The pairs are [from, to], and the tensor can be broadcast to `[B, H, T, T]`.
        """
        forbidden = None if mask is None else tf.expand_dims(tf.expand_dims(~mask, 1), 1)
        if self.causal:
            position = tf.range(length)
            later = position[None, :] > position[:, None]  # [T, T]
            forbidden = later if forbidden is None else tf.logical_or(forbidden, later)
        return forbidden


def built_dense(layer, name, from_dim, to_dim, source=None):
    """Returns a built `LoraDense` layer from width `from_dim` to width `to_dim`.

    The dtype policy is taken from `layer`, and the kernel initializer from `source`, or from
    `layer` if `source` is `None`.
    """
    dense = LoraDense(
        to_dim,
        kernel_initializer=new_initializer((source or layer).kernel_initializer),
        dtype=layer.dtype_policy,
        name=name,
    )
    dense.build((None, from_dim))
    return dense


def attention_spec(layer, inputs, return_attention):
    """Returns the symbolic outputs of an attention layer or block, for functional models.

    The result is one `KerasTensor`, or a pair with `return_attention`: the output and the attention
    probabilities.
    """
    outputs = keras.KerasTensor(inputs.shape, "float32")
    if not return_attention:
        return outputs
    batch, length = inputs.shape[:2]
    shape = batch, layer.num_heads, length, length
    return outputs, keras.KerasTensor(shape, "float32")
