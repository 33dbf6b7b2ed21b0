"""PieceEncoder: word vectors from BERT, each taken from the first piece of the word."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.ops.annotations import Features, Outputs
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.features import feature, with_optional
from tfreps._src.models.whole_model import WholeModel


@keras.saving.register_keras_serializable(package="tfreps")
class PieceEncoder(WholeModel, keras.Model):
    """BERT encoder of words, which takes the vector of each word from its first piece.

        pieces = [start, pieces of word 1, pieces of word 2, ..., separator]
        sequence_output_t = encoder(pieces)[position of the first piece of word t]

    A tagger on this encoder therefore predicts one tag per word.

    Args:
        encoder: `BertEncoder`.
        start_id: int. Piece id of `[CLS]`.
        separator_id: int. Piece id of `[SEP]`.

    Call arguments:
        features: dict with `piece_ids` int `[B, T, W]`, the pieces of each word followed by the
            encoder's padding id; and, optionally, `mask` bool `[B, T]`, True on real words. If
            `mask` is absent, all words with at least one piece are real.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `sequence_output` float32 `[B, T, D]`, zero on padding; `mask` bool `[B, T]`; and,
        if the encoder returns it, `pooled_output` float32 `[B, D]`. `D` is the `hidden_dim` of the
        encoder.

    Masking: padding has no influence. A real word without pieces gets the vector of the piece that
    follows it.

    Raises:
        ValueError: If `features` has no `piece_ids`.
        tf.errors.InvalidArgumentError: If the encoder rejects an id or the length of a text.

    Reference: Devlin et al., 2019, "BERT", section 5.3.

    Example:
    >>> from tfreps.models import BertEncoder
    >>> bert = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2)
    >>> words = PieceEncoder(bert, start_id=2, separator_id=3)
    >>> words({"piece_ids": tf.constant([[[5, 6], [7, 0]]])})["sequence_output"].shape
    TensorShape([1, 2, 8])
    """

    def __init__(
        self, encoder: BertEncoder, start_id: int, separator_id: int, **kwargs: Any
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        self.encoder = encoder
        self.start_id = start_id
        self.separator_id = separator_id
        self.output_dim = encoder.output_dim
        self.pooled_dim = encoder.pooled_dim
        self.supports_jit = False  # the number of pieces has no static shape
        self.built = True

    def call(self, features: Features, training: bool = False) -> Outputs:
        ids, positions, mask = self._pieces(features)
        encoded = self.encoder(ids, training=training)
        x = tf.gather(encoded["sequence_output"], positions, batch_dims=1)  # [B, T, D]
        outputs = {"sequence_output": tf.where(tf.expand_dims(mask, -1), x, 0.0), "mask": mask}
        if "pooled_output" in encoded:
            outputs["pooled_output"] = encoded["pooled_output"]
        return outputs

    def _input_signatures(self):
        """Returns the input specs; see `WholeModel._input_signatures`."""
        return with_optional([feature("piece_ids", None)], feature("mask", dtype="bool"))

    def attention(self, features: Features) -> tuple[tf.Tensor, tf.Tensor]:
        """Computes the attention probabilities between pieces.

        Args:
            features: dict. The features, as passed to `call`.

        Returns:
            Tuple `(piece_ids, attention)`. `piece_ids` is int32 `[B, P]`: for each text, the start
            id, the ids of all pieces and the separator id, followed by padding. `attention` is
            float32 `[B, num_layers, num_heads, P, P]`: the attention probabilities; see
            `BertEncoder.attention`.

        Raises:
            ValueError: If `features` has no `piece_ids`.
        """
        pieces, _, _ = self._pieces(features)
        return pieces["token_ids"], self.encoder.attention(pieces)

    def _pieces(self, features):
        """Prepares the pieces of words for the encoder.

        Returns:
            Tuple `(features, positions, mask)`. `features` is the dict of features for the
            encoder. `positions` is int32 `[B, T]`: the position of the first piece of each word.
            `mask` is bool `[B, T]`, True on real words.
        """
        if "piece_ids" not in features:
            raise ValueError(
                f"`features` must have the key `piece_ids`; got {sorted(features)}. Create it with "
                "tfreps.text.PieceIndexer and `words=True`."
            )
        pieces = tf.cast(features["piece_ids"], "int32")  # [B, T, W]
        real = pieces != self.encoder.padding_id
        mask = features.get("mask")
        mask = tf.reduce_any(real, 2) if mask is None else tf.cast(mask, "bool")
        real = tf.logical_and(real, tf.expand_dims(mask, -1))
        return *self._joined(pieces, real), mask

    def _joined(self, pieces, real):
        """Joins the pieces `[B, T, W]` of each text into one row with the start and separator ids.

        Args:
            pieces: int32, shape `[B, T, W]`. Ids of the pieces of each word.
            real: bool, shape `[B, T, W]`. True on real pieces, False on padding.

        Returns:
            Tuple `(features, positions)`. `features` is the dict of features for the encoder.
            `positions` is int32 `[B, T]`: the position of the first piece of each word.
        """
        rows, words, width = tf.unstack(tf.shape(pieces))
        flat = [rows, words * width]
        number = tf.cumsum(tf.cast(tf.reshape(real, flat), "int32"), axis=1)  # [B, T * W]
        total = tf.reduce_sum(tf.cast(real, "int32"), axis=[1, 2])  # [B]
        longest = tf.maximum(tf.reduce_max(total), 0) + 2  # the length is 2 if there are no rows
        # Column 0 is for the start id. Padding goes into an extra last column, which is dropped.
        column = tf.where(tf.reshape(real, flat), number, longest)
        row = tf.broadcast_to(tf.expand_dims(tf.range(rows), 1), flat)
        ids = tf.fill([rows, longest + 1], self.encoder.padding_id)
        ids = tf.tensor_scatter_nd_update(
            ids, tf.stack([row, column], -1), tf.reshape(pieces, flat)
        )[:, :-1]
        place = tf.expand_dims(tf.range(longest), 0)
        last = tf.expand_dims(total + 1, 1)
        ids = tf.where(place == 0, self.start_id, tf.where(place == last, self.separator_id, ids))
        counts = tf.reduce_sum(tf.cast(real, "int32"), axis=2)
        positions = 1 + tf.cumsum(counts, axis=1, exclusive=True)
        return {"token_ids": ids, "mask": place <= last}, positions
