"""Looks up the ids of tokens inside a TensorFlow graph, in constants or in a file."""

import tensorflow as tf


def lookup_table(tokens, default, path=None):
    """Makes a table that maps each token to its place in a list.

    Args:
        tokens: list of str, all different.
        default: int. What all other strings are.
        path: file to write the tokens to, one a line: a SavedModel takes it along among its
            `assets`, where it can be read. None for constants of the graph, so that no file has
            to travel along; so it is, too, for what a line cannot hold: a token with a line
            break, or without a character.

    Returns:
        `tf.lookup.StaticHashTable`, str to int64.

    Example:
        >>> import os, tempfile
        >>> import tensorflow as tf
        >>> from tfreps.text.lookup_table import lookup_table
        >>> path = os.path.join(tempfile.mkdtemp(), "vocabulary.txt")
        >>> for table in lookup_table(["a", "b"], -1), lookup_table(["a", "b"], -1, path):
        ...     print(table.lookup(tf.constant(["b", "c"])).numpy().tolist())
        [1, -1]
        [1, -1]
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
    """Looks up the ids of pieces. As a `tf.Module` it is saved with its table.

    Args:
        vocabulary: list of str, the pieces in the order of their ids.
        default: int. What all other strings are.
        path: file for the pieces, or None; see `lookup_table`.

    Call arguments:
        pieces: str tensor of any shape.

    Returns:
        int32 tensor of that shape.
    """

    def __init__(self, vocabulary, default, path=None):
        super().__init__(name="piece_table")
        with tf.init_scope():
            self.table = lookup_table(vocabulary, default, path)

    def __call__(self, pieces):
        return tf.cast(self.table.lookup(pieces), tf.int32)
