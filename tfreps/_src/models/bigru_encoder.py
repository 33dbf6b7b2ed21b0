"""BiGRUEncoder: stacked bidirectional GRUs over token vectors."""

import keras

from tfreps._src.layers.bigru import BiGRU
from tfreps._src.models.rnn_encoder import RNNEncoder


@keras.saving.register_keras_serializable(package="tfreps")
class BiGRUEncoder(RNNEncoder):
    """Stack of `num_layers` bidirectional GRUs over embedded tokens.

        h_0 = embedder(features)
        h_l = BiGRU_l(dropout(h_{l-1}))

    Args:
        embedder: `TokenEmbedder` or any other encoder.
        units: int. Width of each direction; the output is twice as wide. Defaults to 128.
        num_layers: int. Number of GRU layers, at least 1. Defaults to 1.
        dropout: float in [0, 1). Dropout rate of the input of each GRU after the first; for
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

    Reference: Jiao, Sun and Sun, 2018, "Chinese Lexical Analysis with Deep Bi-GRU-CRF Network".

    Example:
    >>> import tensorflow as tf
    >>> from tfreps.models import TokenEmbedder
    >>> encoder = BiGRUEncoder(TokenEmbedder(vocabulary_size=9), units=4)
    >>> encoder({"token_ids": tf.constant([[3, 9, 0]])})["sequence_output"].shape
    TensorShape([1, 3, 8])
    """

    _layer = BiGRU
