"""PieceTable: pieces to their ids inside a TensorFlow graph."""

import tensorflow as tf

from tfreps.text.lookup_table import lookup_table


class PieceTable(tf.Module):
    """Looks pieces up; as a `tf.Module` it takes its table into a SavedModel.

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
