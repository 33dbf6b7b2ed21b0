"""Small tasks that are learned in seconds and need context."""

import numpy as np
import tensorflow as tf

TAGS = ["O", "B-X", "I-X"]
VOCABULARY_SIZE = 8
OPENS, CLOSES = 7, 8  # a span is from one to the other, inclusive


def sentences(number=256, seed=0, longest=9):
    """Returns token ids `[N, T]` (0 = padding) and BIO tag ids `[N, T]` (-1 = padding)."""
    rng = np.random.default_rng(seed)
    ids = np.zeros([number, longest], "int32")
    tags = np.full([number, longest], -1, "int32")
    for row in range(number):
        length = rng.integers(1, longest + 1)
        ids[row, :length] = rng.integers(1, VOCABULARY_SIZE + 1, length)
        inside = False
        for t in range(length):
            if ids[row, t] == OPENS:
                tags[row, t], inside = 1, True
            else:
                tags[row, t] = 2 if inside else 0
                inside = inside and ids[row, t] != CLOSES
    return ids, tags


def tagged(number=256, seed=0, batch_size=32, weights=None):
    ids, tags = sentences(number, seed)
    element = ({"token_ids": ids}, tags) if weights is None else ({"token_ids": ids}, tags, weights)
    return tf.data.Dataset.from_tensor_slices(element).batch(batch_size)


def labeled(number=256, seed=0, batch_size=32, weights=None):
    """Returns texts with label 1 if a 3 is directly followed by a 4, else 0."""
    rng = np.random.default_rng(seed)
    ids = np.zeros([number, 12], "int32")
    for row in range(number):
        length = rng.integers(3, 13)
        ids[row, :length] = rng.permutation(np.resize([1, 2, 3, 4, 5, 6], length))
    labels = ((ids[:, :-1] == 3) & (ids[:, 1:] == 4)).any(axis=1).astype("int32")
    element = {"token_ids": ids}, labels
    element = element if weights is None else (*element, weights)
    return tf.data.Dataset.from_tensor_slices(element).batch(batch_size)
