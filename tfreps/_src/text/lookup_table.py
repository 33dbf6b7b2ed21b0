"""Creates TensorFlow tables that map tokens to ids, stored as constants or in a file."""

import os
from collections.abc import Iterable
from typing import Any

import tensorflow as tf


def lookup_table(
    tokens: Iterable[str], default: int, path: str | os.PathLike[str] | None = None
) -> Any:  # a `tf.lookup.StaticHashTable`, which type checkers do not know
    """Returns a lookup table that maps tokens to their positions, and other strings to `default`.

    The tokens are written to the file `path`, one per line. A SavedModel copies this file to its
    `assets` folder. If `path` is `None`, or if a token is empty or contains a line break, the
    tokens are stored as constants of the graph.
    """
    tokens = list(tokens)
    if path is None or not all(tokens) or any("\n" in t or "\r" in t for t in tokens):
        ids = tf.range(len(tokens), dtype=tf.int64)
        rows = tf.lookup.KeyValueTensorInitializer(tf.constant(tokens, tf.string), ids)
        return tf.lookup.StaticHashTable(rows, default)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(token + "\n" for token in tokens)
    index = tf.lookup.TextFileIndex
    kinds = tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
    return tf.lookup.StaticHashTable(tf.lookup.TextFileInitializer(str(path), *kinds), default)


class PieceTable(tf.Module):
    """Table that maps pieces to int32 ids.

    It is a `tf.Module`, so that a SavedModel includes its entries.
    """

    def __init__(
        self,
        vocabulary: Iterable[str],
        default: int,
        path: str | os.PathLike[str] | None = None,
    ):
        super().__init__(name="piece_table")
        with tf.init_scope():
            self.table: Any = lookup_table(vocabulary, default, path)

    def __call__(self, pieces: tf.Tensor) -> tf.Tensor:
        return tf.cast(self.table.lookup(pieces), tf.int32)
