"""ScalarMix: one learned weighted sum of the layers of an encoder."""

import keras
import tensorflow as tf

from tfreps.layers.ops.configurable import Configurable


@keras.saving.register_keras_serializable(package="tfreps")
class ScalarMix(Configurable, keras.layers.Layer):
    """Mixes the layers of an encoder into one vector per token.

        s = softmax(w)
        y = gamma * sum_l s_l * norm(x_l)

    `norm` is the identity, or with `layer_norm=True` subtracts one mean and divides by
    one deviation, both taken over every real position and dimension of the whole batch:

        norm(x) = (x - mean) / sqrt(variance + epsilon)

    so a sentence's result then depends on its batch. Both originals do this; it is off by
    default, in theirs and here.

    Args:
        initial_weights: list of float, one per layer, where `w` starts; None for zeros
            (the plain average). With `trainable=False` they stay as given, and
            for example `[-9e10, 1, -9e10]` selects the second layer.
        layer_norm: bool. Whether to normalise each layer first.
        layer_norm_epsilon: float. Added to the variance; bilm-tf and AllenNLP up to 0.9 use 1e-12,
            AllenNLP from 1.0 uses 1e-13.
        l2: float. The layer's loss is `l2 * sum(w ** 2)`: on `w`, not on `s`. Strong values
            (1) keep the mix near the average, weak ones (0.001) leave it free.
        top_only: bool. Whether to use the last layer alone, times `gamma`.

    Call arguments:
        layer_outputs: float, shape `[B, L, T, D]`.
        mask: bool, shape `[B, T]`, True on real tokens; used by `layer_norm` alone.

    Returns:
        float32, shape `[B, T, D]`.

    Masking: padded positions are mixed like all others; without `layer_norm` zeros
    stay zeros.

    Reference: Peters et al., 2018, "Deep contextualized word representations", equation 1.

    Example:
    >>> layers = tf.constant([[[[1.0, 2.0]], [[3.0, 6.0]]]])        # [1, 2, 1, 2]
    >>> ScalarMix()(layers).numpy().tolist()
    [[[2.0, 4.0]]]
    """

    def __init__(
        self,
        initial_weights=None,
        layer_norm=False,
        layer_norm_epsilon=1e-12,
        l2=0.0,
        top_only=False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True
        self.initial_weights = initial_weights
        self.layer_norm = layer_norm
        self.layer_norm_epsilon = layer_norm_epsilon
        self.l2 = l2
        self.top_only = top_only

    def build(self, input_shape):
        num_layers = input_shape[1]
        initial = [0.0] * num_layers if self.initial_weights is None else self.initial_weights
        if len(initial) != num_layers:
            raise ValueError(
                f"`initial_weights` needs one value per layer; the input has {num_layers} layers "
                f"(shape {tuple(input_shape)}), got {len(initial)} values."
            )
        self.gamma = self.add_weight(name="gamma", shape=(), initializer="ones", autocast=False)
        if not self.top_only:
            self.scalar_weights = self.add_weight(
                name="scalar_weights",
                shape=(num_layers,),
                initializer=lambda shape, dtype: tf.constant(initial, dtype, shape),
                regularizer=keras.regularizers.L2(self.l2) if self.l2 else None,
                autocast=False,
            )

    def call(self, layer_outputs, mask=None):
        layer_outputs = tf.cast(layer_outputs, "float32")
        if self.top_only:
            layer_outputs = layer_outputs[:, -1:]  # [B, 1, T, D]
        if self.layer_norm:
            layer_outputs = _normalise(layer_outputs, mask, self.layer_norm_epsilon)
        gamma = tf.cast(self.gamma, "float32")
        if self.top_only:
            return gamma * layer_outputs[:, 0]  # [B, T, D]
        weights = gamma * tf.nn.softmax(tf.cast(self.scalar_weights, "float32"))  # [L]
        return tf.einsum("l,bltd->btd", weights, layer_outputs)  # [B, T, D]

    def shares(self):
        """How much each layer has in the mix: float32 `[L]`, sums to 1; None with `top_only`."""
        return None if self.top_only else tf.nn.softmax(tf.cast(self.scalar_weights, "float32"))

    def compute_output_shape(self, input_shape):
        return (input_shape[0], *input_shape[2:])


def _normalise(x, mask, epsilon):
    """Normalises each layer of `x` `[B, L, T, D]` over all its real positions at once."""
    real = tf.ones_like(x[:, :1, :, :1])  # [B, 1, T, 1]
    if mask is not None:
        real = tf.cast(mask, "float32")[:, None, :, None]
    count = tf.maximum(tf.reduce_sum(real), 1.0) * tf.cast(tf.shape(x)[-1], "float32")
    over = [0, 2, 3]
    mean = tf.reduce_sum(x * real, over, keepdims=True) / count  # [1, L, 1, 1]
    variance = tf.reduce_sum(tf.square((x - mean) * real), over, keepdims=True) / count
    return (x - mean) / tf.sqrt(variance + epsilon)
