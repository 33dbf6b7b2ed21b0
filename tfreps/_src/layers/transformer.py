"""TransformerBlock: self-attention and a feed-forward network with residual connections."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_dropout, check_integers, check_positive
from tfreps._src.layers.attention import SelfAttention, attention_spec, built_dense
from tfreps._src.layers.ops.annotations import Activation, Initializer, Shape
from tfreps._src.layers.ops.configurable import Configurable, shared_options
from tfreps._src.layers.ops.masks import as_mask

# TensorFlow can fuse these expressions with the preceding matrix multiplication in a graph.
ACTIVATIONS = {
    "gelu": lambda x: 0.5 * x * (1.0 + tf.math.erf(x * 0.5**0.5)),
    "gelu_tanh": lambda x: tf.nn.gelu(x, approximate=True),
    "relu": tf.nn.relu,
}


@keras.saving.register_keras_serializable(package="tfreps")
class TransformerBlock(Configurable, keras.layers.Layer):
    """Transformer encoder block, with layer normalization after or before each of its two parts.

        feed_forward(x) = activation(x @ expand_kernel + expand_bias) @ contract_kernel
                          + contract_bias

        x = attention_norm(x + dropout(attention(x)))
        y = feed_forward_norm(x + dropout(feed_forward(x)))

    With `normalize_first`:

        x = x + dropout(attention(attention_norm(x)))
        y = x + dropout(feed_forward(feed_forward_norm(x)))

    Args:
        num_heads: int. Number of attention heads, which must divide the width of the inputs.
        intermediate_dim: int. Width of the hidden layer of the feed-forward network. If `None`,
            it is four times the width of the inputs. Defaults to `None`.
        normalize_first: bool. Whether to normalize the inputs of both parts instead of their
            outputs. If True, a stack of blocks can be trained without learning rate warm-up, and
            needs a layer normalization after the last block. Defaults to False, as in the original
            paper and BERT.
        activation: str or function. `"gelu"`, the exact function with erf (default of Hugging
            Face); `"gelu_tanh"`, its approximation (Google's code); `"relu"` (the original
            paper); or any other activation that Keras accepts. The first two differ by up to
            4.7e-4. Defaults to `"gelu"`.
        causal: bool. If True, a token attends only to itself and to earlier tokens. Defaults to
            False.
        dropout: float in [0, 1). Dropout rate of the outputs of the attention and of the
            feed-forward network, before the residual connections. Defaults to 0.0.
        attention_dropout: float in [0, 1). Dropout rate of the attention probabilities. Defaults
            to 0.0.
        layer_norm_epsilon: float. Value added to the variance in the layer normalizations.
            Defaults to 1e-12.
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
        `y`: float32, shape `[B, T, D]`, zero on padding. With `return_attention`, the tuple
        `(y, a)`. `a` is float32, shape `[B, num_heads, T, T]` (from, to): the attention
        probabilities before dropout, with zeros in the rows and columns of padding.

    Masking: values on padding, including NaN, are ignored. A text without tokens gives zeros.
    The softmax and the layer normalizations are computed in float32 under every dtype policy. The
    activation is computed in float32 in training, and in the compute dtype in inference.

    Raises:
        ValueError: If an option is invalid, `num_heads` does not divide the width of the inputs, or
            `mask` has the wrong shape.

    Reference: Vaswani et al., 2017, "Attention Is All You Need"; Devlin et al., 2019, "BERT";
    Xiong et al., 2020, "On Layer Normalization in the Transformer Architecture", for
    `normalize_first`.

    Example:
    >>> block = TransformerBlock(num_heads=2, activation="gelu_tanh")
    >>> y = block(tf.random.normal([2, 5, 8]), mask=tf.sequence_mask([5, 2], 5))
    >>> y.shape, y[1, 2:].numpy().any().item()
    (TensorShape([2, 5, 8]), False)
    """

    def __init__(
        self,
        num_heads: int,
        intermediate_dim: int | None = None,
        normalize_first: bool = False,
        activation: Activation = "gelu",
        causal: bool = False,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        layer_norm_epsilon: float = 1e-12,
        kernel_initializer: Initializer | None = "glorot_uniform",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.normalize_first = normalize_first
        self.activation = activation
        self.activate = activation_function(activation)
        self.causal = causal
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.kernel_initializer = kernel_initializer
        self.seed = seed
        _check(self)
        self.attention = SelfAttention(
            num_heads,
            causal=causal,
            dropout=attention_dropout,
            kernel_initializer=kernel_initializer,
            seed=seed,
            dtype=self.dtype_policy,
            name="attention",
        )
        self.drop = keras.layers.Dropout(dropout, seed=seed, dtype="float32", name="drop")
        self.supports_masking = True

    def build(self, input_shape: Shape) -> None:
        dim = input_shape[-1]
        wide = self.intermediate_dim or 4 * dim
        self.attention.build(input_shape)
        self.expand = built_dense(self, "expand", dim, wide)
        self.contract = built_dense(self, "contract", wide, dim)
        self.attention_norm = layer_norm(self.layer_norm_epsilon, dim, "attention_norm")
        self.feed_forward_norm = layer_norm(self.layer_norm_epsilon, dim, "feed_forward_norm")

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
        first = self.normalize_first
        y = self.attention_norm(x) if first else x
        y, probabilities = self.attention._attend(y, mask, training, return_attention)
        x += self.drop(y, training=training)
        x = x if first else self.attention_norm(x)
        y = self._feed_forward(self.feed_forward_norm(x) if first else x, training)
        x += self.drop(y, training=training)
        x = x if first else self.feed_forward_norm(x)
        if mask is not None:
            x = tf.where(tf.expand_dims(mask, -1), x, 0.0)
        return (x, probabilities) if return_attention else x

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

    def _feed_forward(self, x, training):
        """Applies the feed-forward network to `x`, and returns float32 `[B, T, D]`.

        The tokens are reshaped to one matrix, because TensorFlow can then fuse a matrix
        multiplication and the activation after it, unless a cast is between them.
        """
        y = self.expand(tf.reshape(x, [-1, x.shape[-1]]))  # [B*T, intermediate_dim]
        y = tf.cast(y, "float32") if training else y
        y = self.contract(self.activate(y))  # [B*T, D]
        return tf.reshape(tf.cast(y, "float32"), tf.shape(x))


def check_blocks(model):
    """Raises a ValueError if a size is below 1, or `num_heads` does not divide `hidden_dim`."""
    names = "hidden_dim", "num_layers", "num_heads"
    check_integers(1, **{name: getattr(model, name) for name in names})
    if model.hidden_dim % model.num_heads:
        raise ValueError(
            f"`num_heads` must divide `hidden_dim`; got {model.num_heads} heads for "
            f"{model.hidden_dim} dimensions."
        )


def make_blocks(model):
    """Returns a list of `num_layers` built blocks with the options of the model."""
    options = shared_options(model, TransformerBlock)
    blocks = []
    for number in range(model.num_layers):
        block = TransformerBlock(**options, dtype=model.dtype_policy, name=f"block_{number}")
        block.build((None, None, model.hidden_dim))
        blocks.append(block)
    return blocks


def read_blocks(model, x, mask, training=False, attention=None):
    """Returns `x` and the output of each block of a model, a list of float32 `[B, T, D]`.

    The attention probabilities of each block, `[B, num_heads, T, T]`, are appended to the list
    `attention`, unless it is `None`.
    """
    layers = [x]
    for block in model.blocks:
        if attention is None:
            x = block(x, mask=mask, training=training)
        else:
            x, probabilities = block(x, mask=mask, training=training, return_attention=True)
            attention.append(probabilities)  # [B, H, T, T]
        layers.append(x)
    if model.final_norm is not None:
        layers[-1] = tf.where(tf.expand_dims(mask, -1), model.final_norm(x), 0.0)
    return layers


def activation_function(activation):
    """Returns the function of an activation that `ACTIVATIONS` contains or that Keras accepts."""
    if isinstance(activation, str) and activation in ACTIVATIONS:
        return ACTIVATIONS[activation]
    return keras.activations.get(activation)


def layer_norm(epsilon, dim, name):
    """Returns a built float32 `LayerNormalization` layer for `dim` features."""
    norm = keras.layers.LayerNormalization(epsilon=epsilon, dtype="float32", name=name)
    norm.build((None, None, dim))
    return norm


def _check(block):
    check_dropout(dropout=block.dropout, attention_dropout=block.attention_dropout)
    check_integers(1, intermediate_dim=block.intermediate_dim, or_none=True)
    check_positive(layer_norm_epsilon=block.layer_norm_epsilon)
