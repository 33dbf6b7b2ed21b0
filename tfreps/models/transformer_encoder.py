"""TransformerEncoder: Transformer blocks over the vectors of tokens."""

import keras
import tensorflow as tf

from tfreps.layers.position_embedding import KINDS, PositionEmbedding
from tfreps.layers.transformer import TransformerBlock, layer_norm, read_blocks
from tfreps.models.whole_model import WholeModel


@keras.saving.register_keras_serializable(package="tfreps")
class TransformerEncoder(WholeModel, keras.Model):
    """Reads the embedded tokens with `num_layers` Transformer blocks, one above the other.

        x_0 = dropout(positions(embedding_norm(project(embedder(features)))))
        x_l = block_l(x_{l-1})          l = 1 .. num_layers
        sequence_output = x_L           ("post"), or final_norm(x_L)          ("pre")

    where `project` is a dense layer, left out if the embedder is `hidden_dim` wide. The layer norm
    takes the place of the paper's factor of `sqrt(hidden_dim)`: whatever vectors the embedder has,
    they are as large as the positions.

    Args:
        embedder: `TokenEmbedder`, or any encoder.
        hidden_dim: int. Width of the output; `num_heads` must divide it.
        num_layers: int, at least 1.
        num_heads: int. Heads of each block.
        intermediate_dim, normalization, activation, causal, layer_norm_epsilon, initializer_range:
            as in `TransformerBlock`. The defaults are for training from scratch without warm-up.
        positions: `"sinusoidal"`, `"sinusoidal_full_index"`, `"learned"` (see
            `PositionEmbedding`), or None for none.
        max_positions: int. Of `"learned"`: the longest text in tokens.
        normalize_positions: bool. As in `PositionEmbedding`.
        dropout: float in [0, 1). Of the input of the first block and of what each block adds,
            in training.
        attention_dropout: float in [0, 1). Of the attention probabilities, in training.

    Call arguments:
        features: dict, what the embedder reads.
        training: bool. Whether dropout is active.

    Returns:
        dict with `sequence_output` float32 `[B, T, hidden_dim]`, zero on padding; `mask` bool
        `[B, T]`; `layer_outputs` float32 `[B, num_layers + 1, T, hidden_dim]`: `x_0` and what
        each block returns, the last of them `sequence_output`.

    Masking: what is masked is as good as not there, positions count real tokens alone.

    Raises:
        ValueError: for options out of range, or `hidden_dim` that `num_heads` does not divide.
        tf.errors.InvalidArgumentError: for texts longer than learned positions.

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
        embedder,
        hidden_dim=128,
        num_layers=2,
        num_heads=4,
        intermediate_dim=None,
        normalization="pre",
        activation="gelu",
        positions="sinusoidal",
        max_positions=512,
        normalize_positions=False,
        causal=False,
        dropout=0.1,
        attention_dropout=0.1,
        layer_norm_epsilon=1e-5,
        initializer_range=None,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        # Options.
        self.embedder = embedder
        self.hidden_dim = hidden_dim
        self.num_layers = num_layers
        self.num_heads = num_heads
        self.intermediate_dim = intermediate_dim
        self.normalization = normalization
        self.activation = activation
        self.positions = positions
        self.max_positions = max_positions
        self.normalize_positions = normalize_positions
        self.causal = causal
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.layer_norm_epsilon = layer_norm_epsilon
        self.initializer_range = initializer_range
        _check(self)
        # Layers.
        shape = (None, None, hidden_dim)
        self.project = None
        if embedder.output_dim != hidden_dim:
            self.project = keras.layers.Dense(hidden_dim, dtype=self.dtype_policy, name="project")
            self.project.build((None, None, embedder.output_dim))
        self.embedding_norm = layer_norm(layer_norm_epsilon, hidden_dim, "embedding_norm")
        self.add_positions = None
        if positions is not None:
            self.add_positions = PositionEmbedding(
                positions, max_positions, normalize_positions, name="positions"
            )
            self.add_positions.build(shape)
        self.drop = keras.layers.Dropout(dropout, dtype="float32", name="drop")
        self.blocks = []
        for number in range(num_layers):
            block = TransformerBlock(
                num_heads=num_heads,
                intermediate_dim=intermediate_dim,
                normalization=normalization,
                activation=activation,
                causal=causal,
                dropout=dropout,
                attention_dropout=attention_dropout,
                layer_norm_epsilon=layer_norm_epsilon,
                initializer_range=initializer_range,
                dtype=self.dtype_policy,
                name=f"block_{number}",
            )
            block.build(shape)
            self.blocks.append(block)
        self.final_norm = None
        if normalization == "pre":
            self.final_norm = layer_norm(layer_norm_epsilon, hidden_dim, "final_norm")
        self.output_dim = hidden_dim
        self.supports_jit = False
        self.built = True

    def call(self, features, training=False):
        layers, mask = self._read(features, training)
        stacked = tf.stack(layers, axis=1)  # [B, L+1, T, hidden_dim]
        return {"sequence_output": layers[-1], "mask": mask, "layer_outputs": stacked}

    def attention(self, features):
        """How much each token reads of each other.

        Args:
            features: dict, as of a call.

        Returns:
            float32, shape `[B, num_layers, num_heads, T, T]` (from, to): rows of real tokens
            add up to 1, those and columns of padding are zero.
        """
        kept = []
        self._read(features, False, kept)
        return tf.stack(kept, axis=1)

    def _read(self, features, training, kept=None):
        """What goes into each block and comes out of the last; attention is put into `kept`."""
        embedded = self.embedder(features, training=training)
        x = embedded["sequence_output"]
        mask = embedded["mask"]
        x = x if self.project is None else self.project(x)  # [B, T, hidden_dim]
        x = self.embedding_norm(tf.cast(x, "float32"))
        x = x if self.add_positions is None else self.add_positions(x, mask=mask)
        x = tf.where(mask[..., None], self.drop(x, training=training), 0.0)
        layers = read_blocks(self.blocks, x, mask, training, kept)
        if self.final_norm is not None:
            layers[-1] = tf.where(mask[..., None], self.final_norm(layers[-1]), 0.0)
        return layers, mask


def _check(encoder):
    if encoder.num_layers < 1:
        raise ValueError(f"`num_layers` must be at least 1; got {encoder.num_layers}.")
    if encoder.num_heads < 1 or encoder.hidden_dim < 1 or encoder.hidden_dim % encoder.num_heads:
        raise ValueError(
            "`num_heads` must be at least 1 and divide `hidden_dim`; "
            f"got {encoder.num_heads} heads for {encoder.hidden_dim}."
        )
    if encoder.positions not in (None, *KINDS):
        raise ValueError(
            f"`positions` must be one of {', '.join(KINDS)}, or None; got {encoder.positions!r}."
        )
    if not 0 <= encoder.dropout < 1:
        raise ValueError(f"`dropout` must be at least 0 and below 1; got {encoder.dropout}.")
