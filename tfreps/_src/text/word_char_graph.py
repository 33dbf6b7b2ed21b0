"""WordCharGraph: WordCharIndexer as a TensorFlow graph of core operations."""

import os
from typing import Any

import tensorflow as tf

from tfreps._src.text.lookup_table import PieceTable
from tfreps._src.text.word_char_ids import (
    SENTENCE_END,
    SENTENCE_START,
    SPECIAL_CHARACTERS,
    SPECIAL_WORDS,
    WordCharIndexer,
    boundary_rows,
)


class WordCharGraph(tf.Module):
    """TensorFlow graph of a `WordCharIndexer`, from str `[...]` to int32 `[..., 1 + C]`.

    The last axis has the size C if the indexer has no words, and 1 if it has no characters. An
    empty string yields zeros, because string tensors are padded with empty strings. Bytes that are
    not valid UTF-8 are read as U+FFFD. The tables are stored in files in `folder`, which a
    SavedModel copies to its assets; if `folder` is `None`, they are constants of the graph.
    """

    def __init__(self, indexer: WordCharIndexer, folder: str | os.PathLike[str] | None = None):
        super().__init__(name="word_characters")
        self.size: int = indexer.max_characters
        count, special = indexer.num_character_ids, SPECIAL_CHARACTERS
        self.characters: Any = None
        self.words: Any = None
        if count is not None:
            self.characters = _table(indexer.characters, special, folder, "characters.txt")
            self.marks: dict[str, int] = dict(
                zip(special, range(count - len(special), count), strict=True)
            )
        if indexer.words is not None:
            self.words = _table(indexer.words, SPECIAL_WORDS, folder, "words.txt")
        self.rows: Any = boundary_rows(count, indexer.vocabulary_size, self.size)

    def __call__(self, tokens: tf.Tensor, empty: int | tf.Tensor = 0) -> tf.Tensor:
        """Returns the ids of tokens, int32; all ids of an empty string have the value `empty`."""
        shape = tf.shape(tokens)
        flat = tf.strings.unicode_transcode(tf.reshape(tokens, [-1]), "UTF-8", "UTF-8")  # [N]
        flat = tf.strings.substr(flat, 0, self.size - 2, unit="UTF8_CHAR")
        parts = [] if self.words is None else [self.words(flat)[:, None] + 1]  # [N, 1]
        if self.characters is not None:
            parts.append(self._of_characters(tf.strings.unicode_split(flat, "UTF-8")))  # [N, C]
        ids = tf.concat(parts, axis=1)  # [N, 1 + C]
        for name, row in zip((SENTENCE_START, SENTENCE_END), self.rows, strict=True):
            ids = tf.where(flat[:, None] == name, row, ids)
        ids = tf.where(flat[:, None] == "", empty, ids)
        ids = tf.reshape(ids, tf.concat([shape, [len(self.rows[0])]], 0))
        return tf.ensure_shape(ids, [*tokens.shape, len(self.rows[0])])

    def _of_characters(self, characters: Any) -> tf.Tensor:
        """Returns the character ids of N tokens, with markers and padding, int32 `[N, C]`."""
        known = characters.with_flat_values(self.characters(characters.flat_values) + 1)
        known = known.to_tensor(0, shape=[None, self.size - 2])  # [N, C - 2]
        ends = tf.cast(characters.row_lengths()[:, None], "int32") + 1  # [N, 1]
        ids = tf.pad(known, [[0, 0], [1, 1]])
        position = tf.range(self.size)
        ids = tf.where(position == 0, self.marks["<bow>"], ids)
        ids = tf.where(position == ends, self.marks["<eow>"], ids)
        return tf.where(position > ends, self.marks["<pad>"], ids)


def _table(entries, special, folder, name):
    """Returns a `PieceTable` of `entries` and `special`; other strings get the id of `<oov>`."""
    path = None if folder is None else os.path.join(folder, name)
    return PieceTable([*entries, *special], len(entries), path)
