"""LinearEncoder: a linear model of the tokens, pairs and triples around each token."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_dropout, check_integers
from tfreps._src.layers.ops.annotations import Features, Outputs
from tfreps._src.layers.ops.masks import checked_ids
from tfreps._src.layers.ops.portable import is_portable
from tfreps._src.layers.ops.table_rows import table_rows
from tfreps._src.models.features import (
    check_features,
    check_frozen_words,
    feature,
    token_mask,
    with_optional,
)
from tfreps._src.models.whole_model import WholeModel


@keras.saving.register_keras_serializable(package="tfreps")
class LinearEncoder(WholeModel, keras.Model):
    """Linear model that sums the trained vectors of the features around each token.

        y_t = sum_o unigram_o[id(t+o)] + sum_o bigram_o[id(t+o), id(t+o+1)]
              + sum_o trigram_o[id(t+o), id(t+o+1), id(t+o+2)]

    If `units` is the number of tags, `Tagger(..., use_projection=False, dropout=0.0)` on this
    encoder is a linear CRF, as in CRFsuite. In CRFsuite's notation, the features w[-1],
    w[0], w[1], w[-1]|w[0] and w[0]|w[1] correspond to `unigram_offsets=(-1, 0, 1)` and
    `bigram_offsets=(-1, 0)`. Positions before the start of a text have an id of their own, and
    positions after its end another. Pairs are hashed into `num_buckets` table rows for each offset,
    so different pairs may share a row: with 50,000 distinct pairs and the default of 2 ** 18 rows,
    about one pair in six does. Texts have about three times as many distinct triples as pairs, so
    tables of triples have four times as many rows.

    Args:
        vocabulary_size: int. Vocabulary size.
        units: int. Width of the output.
        unigram_offsets: list of int. Offsets of single tokens; 0 is the token itself.
            Defaults to `(-2, -1, 0, 1, 2)`.
        bigram_offsets: list of int. Offsets of the first token of a pair. Defaults to `(-1, 0)`.
        trigram_offsets: list of int. Offsets of the first token of a triple. Defaults to `()`.
        num_buckets: int. Number of rows of each offset's table of pairs; tables of triples have
            four times as many. Defaults to `2 ** 18`.
        dropout: float in [0, 1). Dropout rate of the features. A dropped feature loses its whole
            vector, which reduces overfitting. Defaults to 0.0.
        num_frozen_words: int. Number of words at the end of the vocabulary that do not occur in the
            training data, as in `TokenEmbedder`. They share one row of the table of single tokens,
            so that a large vocabulary does not slow down the optimizer. Defaults to 0.

    Call arguments:
        features: dict with `token_ids` int `[B, T]`, vocabulary id plus 1, 0 for padding; and,
            optionally, `mask` bool `[B, T]` (`token_ids != 0` if absent). Masked positions are not
            skipped: a masked neighbor on the left counts as the start of the text, and one on the
            right as its end.
        training: bool. Whether to apply dropout. Defaults to `False`.

    Returns:
        dict with `sequence_output` float32 `[B, T, units]`, zero on padding, and `mask`
        bool `[B, T]`.

    Raises:
        ValueError: If a size is below 1, there are no offsets, `dropout` is out of range,
            `num_frozen_words` is negative or greater than `vocabulary_size`, or `features` is not a
            dict with `token_ids`.
        tf.errors.InvalidArgumentError: If an id is out of range.

    Reference: Lafferty, McCallum and Pereira, 2001, "Conditional Random Fields"; CRFsuite; Wager,
    Wang and Liang, 2013, "Dropout Training as Adaptive Regularization", for dropout.

    Example:
    >>> encoder = LinearEncoder(vocabulary_size=9, units=4, num_buckets=64)
    >>> encoder({"token_ids": tf.constant([[3, 9, 0]])})["sequence_output"].shape
    TensorShape([1, 3, 4])
    """

    def __init__(
        self,
        vocabulary_size: int,
        units: int,
        unigram_offsets: Sequence[int] = (-2, -1, 0, 1, 2),
        bigram_offsets: Sequence[int] = (-1, 0),
        trigram_offsets: Sequence[int] = (),
        num_buckets: int = 2**18,
        dropout: float = 0.0,
        num_frozen_words: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(autocast=False, **kwargs)
        check_integers(1, vocabulary_size=vocabulary_size, units=units, num_buckets=num_buckets)
        check_frozen_words(num_frozen_words, vocabulary_size)
        if not [*unigram_offsets, *bigram_offsets, *trigram_offsets]:
            raise ValueError(
                "`unigram_offsets`, `bigram_offsets` and `trigram_offsets` must not all be empty. "
                "Pass at least one offset, such as `unigram_offsets=[0]`."
            )
        check_dropout(dropout=dropout)
        # Options.
        self.vocabulary_size = vocabulary_size
        self.units = units
        self.unigram_offsets = unigram_offsets
        self.bigram_offsets = bigram_offsets
        self.trigram_offsets = trigram_offsets
        self.num_buckets = num_buckets
        self.dropout = dropout
        self.num_frozen_words = num_frozen_words
        # Layers. A linear model can start from zeros, because there is no symmetry to break.
        self.last_id = vocabulary_size - max(0, num_frozen_words - 1)
        self.start_id = self.last_id + 1
        self.end_id = self.last_id + 2
        self.num_ids = self.last_id + 3
        if unigram_offsets:
            self.unigrams = self._table("unigrams", len(unigram_offsets) * self.num_ids)
        if bigram_offsets:
            self.bigrams = self._table("bigrams", len(bigram_offsets) * num_buckets)
        if trigram_offsets:
            self.trigrams = self._table("trigrams", len(trigram_offsets) * 4 * num_buckets)
        whole = (None, None, None, 1)  # drops a feature with all its units
        self.drop = keras.layers.Dropout(dropout, noise_shape=whole, dtype="float32", name="drop")
        self.output_dim = units
        self.supports_jit = False  # the output of tf.unique has no static shape
        self.built = True

    def call(self, features: Features, training: bool = False) -> Outputs:
        check_features(features, ["token_ids"], self.name)
        ids = tf.cast(features["token_ids"], "int32")
        most = self.vocabulary_size
        message = f"Token ids must lie in 0..{most}. Create them with the vocabulary of this model."
        ids = tf.minimum(checked_ids(ids, self.vocabulary_size + 1, message), self.last_id)
        mask = token_mask(features)
        y = 0.0
        if self.unigram_offsets:
            rows = [
                number * self.num_ids + self._at(ids, mask, offset)
                for number, offset in enumerate(self.unigram_offsets)
            ]
            y += self._sum(self.unigrams, rows, training)
        if self.bigram_offsets:
            rows = self._hashed(ids, mask, self.bigram_offsets, 2, self.num_buckets)
            y += self._sum(self.bigrams, rows, training)
        if self.trigram_offsets:
            rows = self._hashed(ids, mask, self.trigram_offsets, 3, 4 * self.num_buckets)
            y += self._sum(self.trigrams, rows, training)
        y = tf.where(tf.expand_dims(mask, -1), y, 0.0)  # [B, T, units]
        return {"sequence_output": y, "mask": mask}

    @property
    def _window(self):
        """Tuple `(left, right)`: how many tokens on each side affect the output of a token."""
        parts = self.unigram_offsets, self.bigram_offsets, self.trigram_offsets
        ends = [offset + n for n, offsets in enumerate(parts) for offset in offsets]
        starts = [offset for offsets in parts for offset in offsets]
        return max(0, -min(starts)), max(0, *ends)

    def _input_signatures(self):
        """Returns the input specs; see `WholeModel._input_signatures`."""
        return with_optional([feature("token_ids")], feature("mask", dtype="bool"))

    def _at(self, ids, mask, offset):
        """Returns the id of the token at `t + offset` for each position t, int32 `[B, T]`.

        If `t + offset` is before the text, this is the start id; after the text, the end id.
        """
        ids = tf.where(mask, ids, self.start_id if offset < 0 else self.end_id)
        steps = tf.shape(ids)[1]
        far = abs(offset)
        before = tf.pad(ids, [[0, 0], [far, 0]], constant_values=self.start_id)
        around = tf.pad(before, [[0, 0], [0, far]], constant_values=self.end_id)
        return around[:, far + offset : far + offset + steps]

    def _hashed(self, ids, mask, offsets, length, num_buckets):
        """Returns the rows of a table that contain the vectors of pairs or triples of tokens.

        Args:
            ids, mask: int `[B, T]` and bool `[B, T]`. Token ids, and True on real tokens.
            offsets: list of int. Offsets of the first token of a pair or triple.
            length: int. Number of tokens: 2 for pairs, 3 for triples.
            num_buckets: int. Number of table rows for each offset.

        Returns:
            list with an int32 tensor `[B, T]` for each offset: at position t, the row for the
            `length` tokens that begin at `t + offset`.
        """
        return [
            number * num_buckets + self._bucket(ids, mask, offset, length, num_buckets)
            for number, offset in enumerate(offsets)
        ]

    def _bucket(self, ids, mask, offset, length, num_buckets):
        """Returns a hash of the `length` tokens that begin at `t + offset`, for each position t.

        The hashes are int32 `[B, T]`, from 0 to `num_buckets - 1`.
        """
        key = tf.cast(self._at(ids, mask, offset), "int64")
        for step in range(1, length):
            following = tf.cast(self._at(ids, mask, offset + step), "int64")
            key = (key * self.num_ids + following) % (2**31 - 1)
        mixed = key * 1327217885 % 2**31  # Knuth's multiplicative hashing with the golden ratio
        product = mixed * num_buckets
        if is_portable():  # LiteRT does not divide int64; in float32, this division is exact
            if num_buckets > 2**24:
                raise ValueError(
                    "A model for ONNX Runtime or LiteRT can have at most "
                    f"{2**24 * self.num_buckets // num_buckets:,} buckets (`num_buckets`); got "
                    f"{self.num_buckets:,}. Export a SavedModel instead."
                )
            return tf.cast(tf.cast(product - product % 2**31, "float32") / 2.0**31, "int32")
        return tf.cast(product // 2**31, "int32")

    def _sum(self, table, rows, training):
        vectors = table_rows(table, tf.stack(rows, axis=-1))  # [B, T, O, units]
        return tf.reduce_sum(self.drop(vectors, training=training), axis=2)  # [B, T, units]

    def _table(self, name, rows):
        return self._add(name, (rows, self.units))
