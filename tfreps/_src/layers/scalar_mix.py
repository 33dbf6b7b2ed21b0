"""ScalarMix: a learned weighted sum of the layers of an encoder."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.ops.annotations import Shape
from tfreps._src.layers.ops.configurable import Configurable
from tfreps._src.layers.ops.masks import as_mask


@keras.saving.register_keras_serializable(package="tfreps")
class ScalarMix(Configurable, keras.layers.Layer):
    """Learned weighted sum of the layers of an encoder.

        s = softmax(w)
        y = gamma * sum_l s_l * norm(x_l)

    `x_l` is the output of layer `l`, and `w` and `gamma` are learned. By default, `norm` is the
    identity. With `layer_norm=True`, it normalizes each layer with one mean and one variance,
    computed over all real positions and dimensions of the whole batch:

        norm(x) = (x - mean) / sqrt(variance + epsilon)

    The result of a sentence then depends on the other sentences of its batch. bilm-tf and
    AllenNLP offer the same option, which is off by default in both.

    Args:
        initial_weights: list of float. Initial values of `w`, one per layer. If `None`, they are
            zero, which gives the average. With `trainable=False`, they stay constant; for
            example, `[-9e10, 1, -9e10]` selects the second of three layers. Defaults to `None`.
        layer_norm: bool. Whether to normalize each layer before mixing. Defaults to `False`.
        layer_norm_epsilon: float. Value added to the variance. bilm-tf and AllenNLP up to 0.9 use
            1e-12; AllenNLP 1.0 and later use 1e-13. Defaults to 1e-12.
        l2: float. Adds `l2 * sum(w ** 2)` to the losses; the penalty applies to `w`, not to `s`.
            Large values (such as 1) keep the mix close to the average; small values (such as 0.001)
            barely restrict it. Defaults to 0.0.
        top_only: bool. If True, only the last layer is used, multiplied by `gamma`. Defaults to
            False.

    Call arguments:
        inputs: float, shape `[B, L, T, D]`. The outputs of the layers.
        mask: bool, shape `[B, T]`. True on real tokens. Has an effect only with `layer_norm`. If
            `None`, all tokens are real.

    Returns:
        float32, shape `[B, T, D]`.

    Masking: padding is mixed like real tokens. Without `layer_norm`, zeros on padding stay zero.

    Raises:
        ValueError: If the number of `initial_weights` is not the number of layers, or, with
            `layer_norm`, the mask does not have the shape `[B, T]`.

    Reference: Peters et al., 2018, "Deep contextualized word representations", equation 1.

    Example:
    >>> layers = tf.constant([[[[1.0, 2.0]], [[3.0, 6.0]]]])        # [1, 2, 1, 2]
    >>> ScalarMix()(layers).numpy().tolist()
    [[[2.0, 4.0]]]
    """

    def __init__(
        self,
        initial_weights: Sequence[float] | None = None,
        layer_norm: bool = False,
        layer_norm_epsilon: float = 1e-12,
        l2: float = 0.0,
        top_only: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True
        self.initial_weights = initial_weights
        self.layer_norm = layer_norm
        self.layer_norm_epsilon = layer_norm_epsilon
        self.l2 = l2
        self.top_only = top_only

    def build(self, input_shape: Shape) -> None:
        num_layers = input_shape[1]
        initial = [0.0] * num_layers if self.initial_weights is None else self.initial_weights
        if len(initial) != num_layers:
            raise ValueError(
                f"`initial_weights` must have one value for each of the {num_layers} layers of "
                f"the input, which has shape {tuple(input_shape)}; got {len(initial)} values."
            )
        self.gamma = self._add("gamma", (), "ones")
        if not self.top_only:
            self.scalar_weights = self.add_weight(
                name="scalar_weights",
                shape=(num_layers,),
                initializer=lambda shape, dtype: tf.constant(initial, dtype, shape),
                regularizer=keras.regularizers.L2(self.l2) if self.l2 else None,
                autocast=False,
            )

    def call(self, inputs: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor:
        x = tf.cast(inputs, "float32")
        if self.top_only:
            x = x[:, -1:]  # [B, 1, T, D]
        if self.layer_norm:
            x = _normalize(x, mask, self.layer_norm_epsilon)
        gamma = tf.cast(self.gamma, "float32")
        if self.top_only:
            return gamma * x[:, 0]  # [B, T, D]
        weights = gamma * tf.nn.softmax(tf.cast(self.scalar_weights, "float32"))  # [L]
        return tf.einsum("l,bltd->btd", weights, x)  # [B, T, D]

    def normalized_weights(self) -> tf.Tensor | None:
        """Returns the weights `s`, float32 `[L]` with sum 1, or `None` if `top_only` is True."""
        return None if self.top_only else tf.nn.softmax(tf.cast(self.scalar_weights, "float32"))

    def compute_output_shape(self, input_shape: Shape) -> Shape:
        return (input_shape[0], *input_shape[2:])


def _normalize(x, mask, epsilon):
    """Returns `x`, `[B, L, T, D]`, with each layer normalized over all of its real positions."""
    real = tf.ones_like(x[:, :1, :, :1])  # [B, 1, T, 1]
    if mask is not None:
        real = tf.cast(as_mask(mask, x[:, 0]), "float32")  # [B, T]
        real = tf.expand_dims(tf.expand_dims(real, 1), -1)
    count = tf.maximum(tf.reduce_sum(real), 1.0) * tf.cast(tf.shape(x)[-1], "float32")
    over = [0, 2, 3]
    mean = tf.reduce_sum(x * real, over, keepdims=True) / count  # [1, L, 1, 1]
    variance = tf.reduce_sum(tf.square((x - mean) * real), over, keepdims=True) / count
    return (x - mean) / tf.sqrt(variance + epsilon)
