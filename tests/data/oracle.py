"""Text files, data sets as arrays, and the characters of a batch."""

import gzip
import random

import numpy as np

from docs.by_hand.batches import lm_batches as lm_batches_by_hand
from tfreps.data import LMBatches
from tfreps.text import Vocabulary

VOCABULARY = Vocabulary(["<S>", "</S>", "<UNK>", "a", "b", "c", "d", "e"])
WORDS = ["a", "b", "c", "d", "e", "ö", "unknown", "zebra", "b"]


def write(folder, name, text):
    path = folder / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def lm_batches(*args, **options):
    return LMBatches(*args, **options).dataset()


def arrays(dataset):
    return [{key: value.numpy() for key, value in batch.items()} for batch in dataset]


def assert_same(actual, expected):
    assert len(actual) == len(expected)
    for left, right in zip(actual, expected, strict=True):
        assert left.keys() == right.keys()
        for key in left:
            np.testing.assert_array_equal(left[key], right[key], err_msg=key)


def random_lines(seed, number, blank=True):
    rng = random.Random(seed)
    lengths = [rng.choice([0 if blank else 1, 1, 2, 3, 5, 17]) for _ in range(number)]
    return [" ".join(rng.choices(WORDS, k=n)) for n in lengths]


def characters_of(batch, suffix=""):
    """Gathers characters as a model does on its device."""
    table = np.concatenate([VOCABULARY.character_table(), batch["unknown_characters"]])
    return table[batch["character_rows" + suffix]] * batch["mask" + suffix][..., None]


def oracle_batches(lines, vocabulary, *size, **options):
    """Yields the inputs as strings and the targets as ids; missing positions are None."""
    for inputs, targets in lm_batches_by_hand(map(str.split, lines), *size, **options):
        ids = [[word and vocabulary.tokens_to_ids([word])[0] for word in row] for row in targets]
        yield inputs, ids
