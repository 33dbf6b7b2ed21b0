"""PieceTable: pieces to their ids inside a TensorFlow graph."""

import tensorflow as tf


class PieceTable(tf.Module):
    """Looks pieces up; as a `tf.Module` it takes its table into a SavedModel.

    Args:
        vocabulary: list of str, the pieces in the order of their ids.
        default: int. What all other strings are.

    Call arguments:
        pieces: str tensor of any shape.

    Returns:
        int32 tensor of that shape.
    """

    def __init__(self, vocabulary, default):
        super().__init__(name="piece_table")
        with tf.init_scope():
            ids = tf.range(len(vocabulary), dtype=tf.int64)
            rows = tf.lookup.KeyValueTensorInitializer(tf.constant(list(vocabulary)), ids)
            self.table = tf.lookup.StaticHashTable(rows, default)

    def __call__(self, pieces):
        return tf.cast(self.table.lookup(pieces), tf.int32)
