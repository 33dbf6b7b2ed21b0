"""BiLSTMEncoder: stacked bidirectional LSTMs over token vectors."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_dropout, check_integers
from tfreps._src.layers.bilstm import BiLSTM
from tfreps._src.layers.ops.annotations import Features, Outputs
from tfreps._src.models.whole_model import WholeModel


@keras.saving.register_keras_serializable(package="tfreps")
class BiLSTMEncoder(WholeModel, keras.Model):
    """Stack of `num_layers` bidirectional LSTMs over embedded tokens.

        h_0 = embedder(features)
        h_l = BiLSTM_l(dropout(h_{l-1}))

    Args:
        embedder: `TokenEmbedder` or any other encoder.
        units: int. Width of each direction; the output is twice as wide. Defaults to 128.
        num_layers: int. Number of LSTM layers, at least 1. Defaults to 1.
        dropout: float in [0, 1). Dropout rate of the input of each LSTM after the first; for
            the first, the embedder has its own dropout. Defaults to 0.0.

    Call arguments:
        features: dict. The features that the embedder reads.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `sequence_output` float32 `[B, T, output_dim]`: the output of the last layer, zero
        on padding; `mask` bool `[B, T]`; `pooled_output` float32 `[B, pooled_dim]`: the forward
        state of the last layer after the last token, followed by the backward state of this layer
        after the first token; and `layer_outputs` float32 `[B, num_layers, T, output_dim]`: the
        outputs of all layers. `output_dim` and `pooled_dim` are `2 * units`.

    Raises:
        ValueError: If `units` is not an integer of at least 1, or `num_layers` or `dropout` is out
            of range.

    Reference: Lample et al., 2016, "Neural Architectures for Named Entity Recognition".

    Example:
    >>> from tfreps.models import TokenEmbedder
    >>> encoder = BiLSTMEncoder(TokenEmbedder(vocabulary_size=9), units=4)
    >>> encoder({"token_ids": tf.constant([[3, 9, 0]])})["sequence_output"].shape
    TensorShape([1, 3, 8])
    """

    def __init__(
        self,
        embedder: keras.Model,
        units: int = 128,
        num_layers: int = 1,
        dropout: float = 0.0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_integers(1, num_layers=num_layers)
        check_dropout(dropout=dropout)
        # Options.
        self.embedder = embedder
        self.units = units
        self.num_layers = num_layers
        self.dropout = dropout
        # Layers.
        self.drop = keras.layers.Dropout(dropout, dtype="float32", name="drop")
        self.bilstms = []
        width = embedder.output_dim
        for number in range(num_layers):
            bilstm = BiLSTM(units, dtype=self.dtype_policy, name=f"bilstm_{number}")
            bilstm.build((None, None, width))
            self.bilstms.append(bilstm)
            width = 2 * units
        self.output_dim = width
        self.pooled_dim = width
        self.supports_jit = False
        self.built = True

    def call(self, features: Features, training: bool = False) -> Outputs:
        embedded = self.embedder(features, training=training)
        x = embedded["sequence_output"]
        mask = embedded["mask"]
        layers = []
        for number, bilstm in enumerate(self.bilstms):
            x = self.drop(x, training=training) if number else x
            x, last = bilstm(x, mask=mask, training=training)  # [B, T, 2U], [B, 2U]
            layers.append(x)
        return {
            "sequence_output": x,
            "mask": mask,
            "pooled_output": last,
            "layer_outputs": tf.stack(layers, axis=1),  # [B, L, T, 2U]
        }
