"""TransformerEncoder: Transformer layers over token vectors."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_dropout
from tfreps._src.layers.ops.annotations import Activation, Features, Initializer, Outputs, Positions
from tfreps._src.layers.position_embedding import KINDS, PositionEmbedding
from tfreps._src.layers.transformer import check_blocks, layer_norm, make_blocks, read_blocks
from tfreps._src.models.whole_model import WholeModel


@keras.saving.register_keras_serializable(package="tfreps")
class TransformerEncoder(WholeModel, keras.Model):
    """Stack of `num_layers` Transformer layers over embedded tokens.

        x_0 = dropout(positions(embedding_norm(project(embedder(features)))))
        x_l = TransformerBlock_l(x_{l-1})       l = 1 .. num_layers
        sequence_output = x_L, or final_norm(x_L) with `normalize_first`;  L = num_layers

    `project` is a dense layer, which is omitted if the width of the embedder is `hidden_dim`.
    `embedding_norm` replaces the paper's factor of `sqrt(hidden_dim)`: it gives the vectors of any
    embedder about the same scale as sinusoidal positions.

    Args:
        embedder: `TokenEmbedder` or any other encoder.
        hidden_dim: int. Width of the output, a multiple of `num_heads`. Defaults to 128.
        num_layers: int. Number of Transformer layers, at least 1. Defaults to 2.
        num_heads: int. Number of attention heads per layer. Defaults to 4.
        intermediate_dim: int. Width of the feed-forward network of each layer. If `None` (the
            default), it is `4 * hidden_dim`.
        normalize_first: bool. Whether to normalize the inputs of the parts of a layer instead of
            their outputs; see `TransformerBlock`. Defaults to `True`, which needs no warm-up of the
            learning rate.
        activation: str or function. Activation of the feed-forward networks; see
            `TransformerBlock`. Defaults to `"gelu"`.
        positions: `"sinusoidal"`, `"sinusoidal_full_index"` or `"learned"`. Kind of position
            vectors; see `PositionEmbedding`. If `None`, no position vectors are added. Defaults to
            `"sinusoidal"`.
        max_sequence_length: int. Maximum length of a text in tokens. Used only with
            `positions="learned"`. Defaults to 512.
        normalize_positions: bool. Whether to scale each sinusoidal position vector to length 1.
            Defaults to `False`.
        causal: bool. Whether a token attends only to itself and to earlier tokens.
            Defaults to `False`.
        dropout: float in [0, 1). Dropout rate of `x_0` and of the outputs of the attention and the
            feed-forward network of each layer. Defaults to 0.1.
        attention_dropout: float in [0, 1). Dropout rate of the attention probabilities.
            Defaults to 0.1.
        layer_norm_epsilon: float. Constant added to the variance in the layer norms.
            Defaults to 1e-5.
        kernel_initializer: str, config or Keras initializer of the kernels of the layers. If
            `None`, it is a truncated normal distribution with a standard deviation of 0.02, as in
            BERT. Defaults to `"glorot_uniform"`.

    Call arguments:
        features: dict. The features that the embedder reads.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `sequence_output` float32 `[B, T, hidden_dim]`, zero on padding; `mask`
        bool `[B, T]`; and `layer_outputs` float32 `[B, num_layers + 1, T, hidden_dim]`: `x_0`, the
        outputs of all layers except the last one, and `sequence_output`.

    Masking: masked tokens have no influence on other tokens, and positions count real tokens only.

    Raises:
        ValueError: If an option is invalid, or `hidden_dim` is not a multiple of `num_heads`.
        tf.errors.InvalidArgumentError: If, with learned positions, a text has more than
            `max_sequence_length` tokens.

    Reference: Vaswani et al., 2017, "Attention Is All You Need".

    Example:
    >>> from tfreps.models import TokenEmbedder
    >>> encoder = TransformerEncoder(TokenEmbedder(vocabulary_size=9), hidden_dim=8, num_heads=2)
    >>> out = encoder({"token_ids": tf.constant([[3, 9, 0]])})
    >>> out["sequence_output"].shape, out["layer_outputs"].shape
    (TensorShape([1, 3, 8]), TensorShape([1, 3, 3, 8]))
    """

    def __init__(
        self,
        embedder: keras.Model,
        hidden_dim: int = 128,
        num_layers: int = 2,
        num_heads: int = 4,
        intermediate_dim: int | None = None,
        normalize_first: bool = True,
        activation: Activation = "gelu",
        positions: Positions | None = "sinusoidal",
        max_sequence_length: int = 512,
        normalize_positions: bool = False,
        causal: bool = False,
        dropout: float = 0.1,
        attention_dropout: float = 0.1,
        layer_norm_epsilon: float = 1e-5,
        kernel_initializer: Initializer | None = "glorot_uniform",
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        # Options.
        self.embedder = embedder
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.normalize_first = normalize_first
        self.activation = activation
        self.positions = positions
        self.max_sequence_length = max_sequence_length
        self.normalize_positions = normalize_positions
        self.causal = causal
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.kernel_initializer = kernel_initializer
        check_blocks(self)
        check_choice((*KINDS, None), positions=positions)
        check_dropout(dropout=dropout)
        # Layers.
        self.project = None
        if embedder.output_dim != hidden_dim:
            self.project = keras.layers.Dense(hidden_dim, dtype=self.dtype_policy, name="project")
            self.project.build((None, None, embedder.output_dim))
        self.embedding_norm = layer_norm(layer_norm_epsilon, hidden_dim, "embedding_norm")
        self.add_positions = None
        if positions is not None:
            self.add_positions = PositionEmbedding(
                positions, max_sequence_length, normalize_positions, name="positions"
            )
            self.add_positions.build((None, None, hidden_dim))
        self.drop = keras.layers.Dropout(dropout, dtype="float32", name="drop")
        self.blocks = make_blocks(self)
        self.final_norm = None
        if normalize_first:
            self.final_norm = layer_norm(layer_norm_epsilon, hidden_dim, "final_norm")
        self.output_dim = hidden_dim
        self.supports_jit = False
        self.built = True

    def call(self, features: Features, training: bool = False) -> Outputs:
        layers, mask = self._read(features, training)
        stacked = tf.stack(layers, axis=1)  # [B, L+1, T, hidden_dim]
        return {"sequence_output": layers[-1], "mask": mask, "layer_outputs": stacked}

    def attention(self, features: Features) -> tf.Tensor:
        """Computes the attention probabilities of all layers.

        Args:
            features: dict. The features, as passed to `call`.

        Returns:
            float32, shape `[B, num_layers, num_heads, T, T]`. The second-to-last axis is the token
            that attends, and the last axis is the token that it attends to. Rows of real tokens sum
            to 1; rows and columns of padding are zero.
        """
        kept = []
        self._read(features, False, kept)
        return tf.stack(kept, axis=1)

    def _read(self, features, training, kept=None):
        """Returns the list that `read_blocks` returns, and the mask: bool `[B, T]`.

        If `kept` is a list, the attention probabilities of each layer are appended to it.
        """
        embedded = self.embedder(features, training=training)
        x = embedded["sequence_output"]
        mask = embedded["mask"]
        x = x if self.project is None else self.project(x)  # [B, T, hidden_dim]
        x = self.embedding_norm(tf.cast(x, "float32"))
        x = x if self.add_positions is None else self.add_positions(x, mask=mask)
        x = tf.where(tf.expand_dims(mask, -1), self.drop(x, training=training), 0.0)
        return read_blocks(self, x, mask, training, kept), mask
