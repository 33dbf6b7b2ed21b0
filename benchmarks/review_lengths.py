"""Generates random texts with the lengths of hotel_reviews.

This module imports only the standard library, since a peer has its own environment.
"""

import random

ROWS = 32
# Quantiles of the lengths of the 8,000 training texts, from the shortest in steps of 5% to the
# longest: characters, two special tokens included, truncated to 300.
QUANTILES = (
    *(6, 15, 23, 27, 31, 36, 42, 49, 56, 63, 71, 80, 91, 103, 120, 137, 158, 190, 240, 300, 300),
)


def random_texts(count, vocabulary_size=30000):
    """Returns random texts in random order, as lists of token ids, all of which are at least 5."""
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


def padded_batches(texts, by_length=False):
    """Returns batches of 32 texts, each padded with 0 to its longest text.

    The texts are in the given order, or with `by_length` from the shortest to the longest.
    """
    texts = sorted(texts, key=len) if by_length else texts
    batches = [texts[start : start + ROWS] for start in range(0, len(texts), ROWS)]
    return [[t + [0] * (max(map(len, batch)) - len(t)) for t in batch] for batch in batches]
