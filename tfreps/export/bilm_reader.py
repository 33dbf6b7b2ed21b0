"""TokenReader: converts strings to the ids of a biLM inside an exported graph."""

import os

import tensorflow as tf

from tfreps.text.char_ids import (
    character_ids,
    sentence_end_ids,
    sentence_start_ids,
    token_character_ids,
)
from tfreps.text.lookup_table import lookup_table


class TokenReader:
    """Converts strings to the ids of a biLM, using only core TensorFlow operations.

    Args:
        bilm: `BiLM`. The model that reads the ids.
        vocabulary: `tfreps.text.Vocabulary` or None. If `None`, `lookup` and `targets` cannot be
            used, and `to_ids` can be used only if the biLM reads characters.
        folder: str. Folder to which the vocabulary is written, as an asset of the SavedModel.
    """

    def __init__(self, bilm, vocabulary, folder):
        self.bilm = bilm
        self.vocabulary = vocabulary
        self.reads_characters = bilm.vocabulary_size is None
        self.table = None
        if vocabulary is not None:
            path = os.path.join(folder, "vocabulary.txt")
            self.table = lookup_table(vocabulary.tokens, vocabulary.unknown_id, path)

    def to_ids(self, tokens, sequence_len):
        """Converts tokens to input ids of the biLM, int32 `[N, T, C]` or `[N, T]`.

        The ids after the first `sequence_len` tokens of each row are 0.
        """
        inside = real_tokens(tokens, sequence_len)
        if not self.reads_characters:
            return tf.where(inside, self.lookup(tokens) + 1, 0)
        size = self.bilm.max_characters
        empty = tf.constant(token_character_ids("", size))  # a token without characters
        ids = tf.where((tokens == "")[..., None], empty, character_ids(tokens, size))
        return tf.where(inside[..., None], ids, 0)  # [N, T, C]

    def lookup(self, tokens):
        """Returns the vocabulary ids of tokens, which are the classes of the softmax, as int32."""
        return tf.cast(self.table.lookup(tokens), tf.int32)

    def surround(self, ids, lengths):
        """Adds sentence boundaries to ids.

        Args:
            ids: int32 tensor of shape `[N, T, C]` or `[N, T]`, as returned by `to_ids`.
            lengths: int32 tensor of shape `[N]`. Number of tokens of each sentence.

        Returns:
            Tuple `(ids, mask)`. `ids` is int32 `[N, T+2, C]` or `[N, T+2]`. `mask` is bool
            `[N, T+2]` and True on the tokens and boundaries of each sentence.
        """
        bilm = self.bilm
        if self.reads_characters:
            size = bilm.max_characters
            start = tf.constant(sentence_start_ids(size))
            end = tf.constant(sentence_end_ids(size))
        else:
            start = tf.constant(bilm.sentence_start_id)
            end = tf.constant(bilm.sentence_end_id)
        return _surround(ids, lengths, start, end)

    def targets(self, tokens, lengths):
        """Returns the vocabulary ids of tokens and sentence boundaries, int32 `[N, T+2]`."""
        ends = self.vocabulary.start_id, self.vocabulary.end_id
        return _surround(self.lookup(tokens), lengths, *ends)[0]


def real_tokens(tokens, sequence_len):
    """Returns the mask of real tokens, bool `[N, T]`: True within the length of each sentence.

    Args:
        tokens: tensor of shape `[N, T, ...]`, padded to T tokens.
        sequence_len: int, shape `[N]`. Number of tokens of each sentence.

    Raises:
        tf.errors.InvalidArgumentError: If `sequence_len` does not have one value from 0 to T
            per sentence.
    """
    rows, longest = tf.unstack(tf.shape(tokens)[:2])
    fits = tf.reduce_all((sequence_len >= 0) & (sequence_len <= longest))
    fits &= tf.size(sequence_len) == rows
    message = (
        "`sequence_len` must have one value per row of tokens, from 0 to the length of the row; "
        "got these lengths and this shape of the tokens:"
    )
    tf.debugging.Assert(fits, [message, sequence_len, tf.shape(tokens)])
    return tf.sequence_mask(sequence_len, longest)


def _surround(ids, lengths, start, end):
    """Adds `start` and `end` to each sentence; returns the ids `[N, T+2, ...]` and the mask."""
    ids = tf.pad(ids, [[0, 0], [1, 1]] + [[0, 0]] * (ids.shape.rank - 2))
    positions = tf.range(tf.shape(ids)[1])[None]  # [1, T+2]
    is_start, is_end = positions == 0, positions == lengths[:, None] + 1
    if ids.shape.rank == 3:
        is_start, is_end = is_start[..., None], is_end[..., None]
    ids = tf.where(is_start, start, tf.where(is_end, end, ids))
    return ids, positions < lengths[:, None] + 2
