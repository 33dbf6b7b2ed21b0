"""A minimal tokenizer whose pieces are separated by spaces."""

import tensorflow as tf

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


class Pieces:
    """Tokenizer with the attributes that `tfreps.data` needs; ids 0 to 4 are special."""

    padding_id, unknown_id, start_id, separator_id, mask_id = range(5)

    def __init__(self, pieces, unused=0):
        self.vocabulary = [*SPECIAL, *(f"[unused{n}]" for n in range(unused)), *pieces]
        self.special_ids = list(range(5 + unused))
        keys = tf.constant(self.vocabulary)
        values = tf.range(len(self.vocabulary))
        entries = tf.lookup.KeyValueTensorInitializer(keys, values)
        self.table = tf.lookup.StaticHashTable(entries, self.unknown_id)

    def __call__(self, texts):
        return tf.ragged.map_flat_values(self.table.lookup, tf.strings.split(texts))
