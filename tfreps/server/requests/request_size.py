"""RequestSize: counts the rows and tokens of a request before the model runs."""

import functools
import itertools
import os
import re
import unicodedata
from typing import NamedTuple

from tfreps.files.json_files import read_json

FILE = os.path.join("assets.extra", "tfreps_counts.json")  # as tfreps.export writes it
PLANES = 0x20000  # code points below which combining marks are looked for


def marks():
    """Returns the combining marks, which `re` does not take for letters."""
    found = [c for c in map(chr, range(0x300, PLANES)) if unicodedata.category(c)[0] == "M"]
    return "".join(found)


# CJK characters, each of which is a word to BERT, and so is an underscore.
_ALONE = "_\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
ATTENDED = 1024  # tokens of a row up to which attention costs less than all the rest, about
# What every token of a tokenization has one of: the count is exact, or a little too high.
PATTERNS = {
    "spaces": r"\S+",
    "words": r"[\w{marks}]+|\S",
    "bert_words": rf"(?:(?![{_ALONE}])[\w{{marks}}])+|\S",
    "characters": r"\S",
}
KEYS = {"tokens", "most_per_text", "added_per_text", "attends"}


@functools.cache
def pattern(tokens):
    """The compiled pattern of a way of tokenizing, made when a model needs it."""
    text = PATTERNS[tokens]
    if "{marks}" in text:
        text = text.replace("{marks}", marks())
    return re.compile(text)


class RequestSize(NamedTuple):
    """The size of a request once its rows are padded.

    Args:
        rows: texts, or rows of the arrays.
        longest: tokens of the longest one.
        attends: whether each token of a row reads all others.
    """

    rows: int
    longest: int
    attends: bool = False

    @property
    def padded(self):
        """Tokens of all rows, each as long as the longest: work and memory grow with them.

        Where they attend to one another, a row of t tokens above 1,024 counts as t * t / 1,024.
        """
        longest = self.longest
        if self.attends and longest > ATTENDED:
            longest = longest * longest // ATTENDED
        return self.rows * longest


class RequestCounter:
    """Counts the tokens of requests for one model, by the rules that its export states.

    Args:
        tokens: how raw texts are cut: a key of `PATTERNS`; None if that is not known, as of models
            that `tfreps export` did not write. Then a text counts as one token.
        most_per_text: int or None. Where the model itself cuts texts that are longer.
        attends: bool. Whether each token of a text reads all others.
        added_per_text: int. Tokens that the model adds to each text.

    Raises:
        ValueError: no such way of cutting.

    Example:
    >>> import numpy as np
    >>> texts = np.array([b"The dog sat .", b"", b"ok"], object)
    >>> RequestCounter("spaces").size({"text": texts}, 100, 1000)
    RequestSize(rows=3, longest=4, attends=False)
    """

    def __init__(self, tokens=None, most_per_text=None, attends=False, added_per_text=0):
        if tokens is not None and tokens not in PATTERNS:
            raise ValueError(f"Texts cannot be counted in {tokens!r}: {', '.join(PATTERNS)}.")
        self.tokens = tokens
        self.most_per_text = most_per_text
        self.attends = attends
        self.added_per_text = added_per_text

    @classmethod
    def of_folder(cls, folder):
        """Reads the counter of an export; a model without the file gets one for unknown models.

        Args:
            folder: of one version of a model.

        Raises:
            ValueError: the file is broken.
        """
        path = os.path.join(os.fspath(folder), FILE)
        if not os.path.isfile(path):
            return cls()
        found = read_json(path)
        if set(found) != KEYS:
            raise ValueError(f"{FILE} must have the keys {', '.join(sorted(KEYS))}.")
        return cls(**found)

    def size(self, inputs, most, most_padded):
        """Returns the size of a request.

        Args:
            inputs: dict from names to NumPy arrays, strings as `bytes` in arrays of objects.
            most: tokens of a text beyond which counting stops.
            most_padded: tokens of all texts, each as long as the longest, beyond which it stops.
        """
        found = [self._of_array(value, most, most_padded) for value in inputs.values()]
        return RequestSize(
            max((size.rows for size in found), default=0),
            max((size.longest for size in found), default=0),
            self.attends,
        )

    def _of_array(self, array, most, most_padded):
        if self.tokens is None:  # numbers of any meaning, or strings that may be anything
            rows = array.size if array.dtype == object else 0
            return RequestSize(rows, 1)
        if array.ndim == 1 and array.dtype == object:
            most = min(most, most_padded // max(array.size, 1))
            return RequestSize(array.size, self._longest(array, most))
        if array.ndim > 1:  # [N, T], [N, T, C]
            return RequestSize(array.shape[0], self._cut(array.shape[1]))
        return RequestSize(array.size, 1)

    def _longest(self, texts, most):
        """Tokens of the longest text, at least 1: an empty row is work too."""
        longest = self._cut(1)
        for text in sorted(texts, key=len, reverse=True):
            if len(text) + self.added_per_text <= longest:
                break  # no text that follows has more tokens than bytes
            longest = max(longest, self._cut(self._count(text, most)))
            if longest > most:
                break
        return longest

    def _count(self, text, most):
        found = pattern(self.tokens).finditer(text.decode("utf-8", "replace"))
        return sum(1 for _ in itertools.islice(found, most + 1))

    def _cut(self, count):
        count += self.added_per_text
        return count if self.most_per_text is None else min(count, self.most_per_text)
