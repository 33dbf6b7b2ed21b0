"""bilm-tf's batch generator with plain lists, from its description (elmo.md 2.8)."""

import gzip
import random

import numpy as np

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


def oracle_batches(lines, vocabulary, batch_size, unroll_steps, reverse=False, finish=False):
    """Yields (inputs, targets): for each row a list of (word, id), the words as strings.

    Without `finish`, it ends as bilm-tf does and drops the incomplete batch. With it, the rows
    continue until all are empty, and missing positions are None.
    """
    first, last = ("</S>", "<S>") if reverse else ("<S>", "</S>")
    sentences = iter(lines)
    streams = [[] for _ in range(batch_size)]
    while True:
        inputs, targets, ended = [], [], False
        for row in range(batch_size):
            inputs.append([])
            targets.append([])
            while len(inputs[row]) < unroll_steps:
                if len(streams[row]) <= 1:
                    line = next(sentences, None)
                    if line is None:
                        ended = True
                        break
                    words = line.split()
                    streams[row] = [first, *(words[::-1] if reverse else words), last]
                inputs[row].append(streams[row][0])
                targets[row].append(vocabulary.tokens_to_ids([streams[row][1]])[0])
                streams[row] = streams[row][1:]
            missing = unroll_steps - len(inputs[row])
            inputs[row] += [None] * missing
            targets[row] += [None] * missing
        if ended and not finish or all(word is None for row in inputs for word in row):
            return
        yield inputs, targets
