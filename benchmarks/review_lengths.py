"""Texts as long as those of hotel_reviews, for what is measured on texts of many lengths.

Imports nothing but the standard library, since a peer has an environment of its own.
"""

import random

ROWS = 32
# Of the 8,000 training texts in characters, two special tokens among them, cut at 300: the
# shortest, the one that 5 % are not longer than, 10 % and so on to the longest.
QUANTILES = (
    *(6, 15, 23, 27, 31, 36, 42, 49, 56, 63, 71, 80, 91, 103, 120, 137, 158, 190, 240, 300, 300),
)


def random_texts(count, vocabulary_size=30000):
    """Lists of token ids from 5 on, in random order.

    Example:
    >>> [len(text) for text in random_texts(4)]
    [97, 25, 52, 215]
    """
    draw = random.Random(0)
    steps = len(QUANTILES) - 1
    lengths = []
    for number in range(count):
        place = (number + 0.5) / count * steps
        low = int(place)
        lengths.append(
            round(QUANTILES[low] + (place - low) * (QUANTILES[low + 1] - QUANTILES[low]))
        )
    draw.shuffle(lengths)
    return [[draw.randrange(5, vocabulary_size) for _ in range(n)] for n in lengths]


def padded_batches(texts):
    """Batches of 32 texts as they come, each padded with 0 to its longest."""
    batches = [texts[start : start + ROWS] for start in range(0, len(texts), ROWS)]
    return [[t + [0] * (max(map(len, batch)) - len(t)) for t in batch] for batch in batches]
