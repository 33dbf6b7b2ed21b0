"""Creates TensorFlow tables that map tokens to ids, stored as constants or in a file."""

import tensorflow as tf


def lookup_table(tokens, default, path=None):
    """Creates a table that maps each token to its position in a list.

    Args:
        tokens: list of str. Distinct tokens.
        default: int. Value for all other strings.
        path: str, path-like object or None. File to which the tokens are written, one per line.
            A SavedModel stores a copy of the file in its `assets` folder. If `None`, or if a
            token is empty or contains a line break, the tokens are stored as constants of the
            graph and no file is written. Defaults to `None`.

    Returns:
        `tf.lookup.StaticHashTable` that maps str to int64.

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
    """Table that maps pieces to ids. As a `tf.Module`, it is saved together with its entries.

    Args:
        vocabulary: list of str. The pieces in the order of their ids.
        default: int. Id of all other strings.
        path: str, path-like object or None. File to which the pieces are written; see
            `lookup_table`. Defaults to `None`.

    Call arguments:
        pieces: str tensor of any shape.

    Returns:
        int32 tensor of the same shape.
    """

    def __init__(self, vocabulary, default, path=None):
        super().__init__(name="piece_table")
        with tf.init_scope():
            self.table = lookup_table(vocabulary, default, path)

    def __call__(self, pieces):
        return tf.cast(self.table.lookup(pieces), tf.int32)
