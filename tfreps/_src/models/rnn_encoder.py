"""RNNEncoder: base class of encoders that stack bidirectional recurrent layers."""

from typing import Any, ClassVar

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_dropout, check_integers
from tfreps._src.layers.bidirectional_rnn import BidirectionalRNN
from tfreps._src.layers.ops.annotations import Features, Outputs
from tfreps._src.models.whole_model import WholeModel


class RNNEncoder(WholeModel, keras.Model):
    """Base class of `BiLSTMEncoder` and `BiGRUEncoder`; `BiLSTMEncoder` describes the arguments.

    `_layer` is the class of the recurrent layers.
    """

    _layer: ClassVar[type[BidirectionalRNN]]

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
        self.rnns = []
        width = embedder.output_dim
        for number in range(num_layers):
            rnn = self._layer(units, dtype=self.dtype_policy, name=f"rnn_{number}")
            rnn.build((None, None, width))
            self.rnns.append(rnn)
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
        for number, rnn in enumerate(self.rnns):
            x = self.drop(x, training=training) if number else x
            x, last = rnn(x, mask=mask, training=training)  # [B, T, 2U], [B, 2U]
            layers.append(x)
        return {
            "sequence_output": x,
            "mask": mask,
            "pooled_output": last,
            "layer_outputs": tf.stack(layers, axis=1),  # [B, L, T, 2U]
        }
