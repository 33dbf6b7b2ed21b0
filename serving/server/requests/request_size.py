"""RequestSize: counts the rows and tokens of a request before the model runs."""

import functools
import itertools
import os
import re
import unicodedata
from typing import NamedTuple

from tfreps._src.files.json_files import read_json
from tfreps._src.text.python_rules import python_pattern
from tfreps._src.text.tokenizers import rules_of

# File in the export, written by tfreps.export.
FILE = os.path.join("assets.extra", "tfreps_counts.json")
PLANES = 0x20000  # end (exclusive) of the code points that are searched for combining marks


def marks():
    """Returns a str of all combining marks below U+20000, which `\\w` of `re` does not match."""
    found = [c for c in map(chr, range(0x300, PLANES)) if unicodedata.category(c)[0] == "M"]
    return "".join(found)


# Characters that BERT treats as separate words: the underscore and CJK characters.
_ALONE = "_\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
ATTENDED = 1024  # approximate row length up to which attention costs less than the other layers
# Punctuation that "treebank" always separates, and closing marks that may follow a final period.
_SEPARATE = r";!?%…—()\[\]{}<>\"“”«»‘£€¥$"
_CLOSING = r")\]}>\"'”’»"
_TREEBANK = "|".join([
    r"--+|\.\.+|(?<!\w)['’]",
    # Characters with inner punctuation, as in well-known or 3.14, or with the apostrophe at the
    # start of a contraction, as in 's.
    rf"['’]?(?:[^\s{_SEPARATE}'’.,:\-]|-(?!-)|[,:](?=[\d,:/])|\.(?![\s.{_CLOSING}]|\Z))+",
    r"\S",
])  # fmt: skip
# Tokenizer -> function that returns a pattern. Every token contains at least one match, so the
# number of matches is the number of tokens or slightly more.
PATTERNS = {
    "spaces": lambda: r"\S+",
    "words": lambda: python_pattern(rules_of("words")[0][0]),
    "treebank": lambda: _TREEBANK,
    "bert_words": lambda: rf"(?:(?![{_ALONE}])[\w{marks()}])+|\S",
    "characters": lambda: r"\S",
}
KEYS = {"tokens", "most_per_text", "added_per_text", "attends"}


@functools.cache
def pattern(tokens):
    """Returns the compiled regular expression that matches one token.

    `tokens` is the tokenization, a key of `PATTERNS`.
    """
    return re.compile(PATTERNS[tokens]())


class RequestSize(NamedTuple):
    """Number of rows (texts) in a request, and number of tokens in the longest row.

    `attends` is `True` if the model computes attention between all tokens of a row.
    """

    rows: int
    longest: int
    attends: bool = False

    @property
    def padded(self):
        """Number of tokens in the request after all rows are padded to the longest row.

        If `attends` is `True`, a row of t > 1,024 tokens counts as t * t / 1,024 tokens, rounded
        down, because the time and memory of attention grow with the square of t.
        """
        longest = self.longest
        if self.attends and longest > ATTENDED:
            longest = longest * longest // ATTENDED
        return self.rows * longest


class RequestCounter:
    """Counter of the tokens in requests to a model, with rules that are stored with the model.

    Args:
        tokens: str. The tokenization of raw texts, a key of `PATTERNS`. If `None` (the default), as
            for models that were not exported by tfreps, every text counts as one token.
        most_per_text: int. Number of tokens, including added ones, to which the model truncates
            texts. If `None` (the default), texts are not truncated.
        attends: bool. Whether the model computes attention between all tokens of a text. Defaults
            to `False`.
        added_per_text: int. Number of tokens that the model adds to every text. Defaults to 0.

    Raises:
        ValueError: If an argument is not valid.

    Example:
    >>> import numpy as np
    >>> texts = np.array([b"The dog sat .", b"", b"ok"], object)
    >>> RequestCounter("spaces").size({"text": texts}, 100, 1000)
    RequestSize(rows=3, longest=4, attends=False)
    """

    def __init__(self, tokens=None, most_per_text=None, attends=False, added_per_text=0):
        if tokens not in (None, *PATTERNS):
            raise ValueError(
                f"`tokens` must be one of {', '.join(PATTERNS)}, or None; got {tokens!r}."
            )
        if most_per_text is not None and not (type(most_per_text) is int and most_per_text > 0):
            raise ValueError(
                f"`most_per_text` must be None or an int of at least 1; got {most_per_text!r}."
            )
        if type(added_per_text) is not int or added_per_text < 0:
            raise ValueError(
                f"`added_per_text` must be an int of at least 0; got {added_per_text!r}."
            )
        if type(attends) is not bool:
            raise ValueError(f"`attends` must be a bool; got {attends!r}.")
        self.tokens = tokens
        self.most_per_text = most_per_text
        self.attends = attends
        self.added_per_text = added_per_text

    @classmethod
    def of_folder(cls, folder):
        """Returns a counter with the rules that are stored in the folder of an export.

        If the folder contains no rules, the counter counts every text as one token. Raises a
        ValueError if the rules are not valid.
        """
        path = os.path.join(os.fspath(folder), FILE)
        if not os.path.isfile(path):
            return cls()
        found = read_json(path)
        if set(found) != KEYS:
            raise ValueError(
                f"{path} must have exactly the keys {', '.join(sorted(KEYS))}; got "
                f"{', '.join(sorted(found)) or 'none'}. Export the model again."
            )
        try:
            return cls(**found)
        except ValueError as error:
            raise ValueError(f"{path}: {error} Export the model again.") from None

    def size(self, inputs, most, most_padded):
        """Returns the `RequestSize` of a request.

        `inputs` is a dict from the names of inputs to arrays. Counting stops as soon as a text has
        more than `most` tokens, or the padded texts have more than `most_padded` tokens.
        """
        found = [self._of_array(value, most, most_padded) for value in inputs.values()]
        rows, longest = map(max, zip((0, 0), *found, strict=True))
        return RequestSize(rows, longest, self.attends)

    def _of_array(self, array, most, most_padded):
        """Returns the number of rows of an array, and the number of tokens in the longest row."""
        if self.tokens is None:  # the meaning of the numbers or strings is unknown
            return array.size if array.dtype == object else 0, 1
        if array.ndim == 1 and array.dtype == object:
            return array.size, self._longest(array, min(most, most_padded // max(array.size, 1)))
        if array.ndim > 1:  # [N, T], [N, T, C]
            return array.shape[0], self._cut(array.shape[1])
        return array.size, 1

    def _longest(self, texts, most):
        """Returns the number of tokens in the longest text; an empty text counts as one token.

        Counting stops as soon as a text has more than `most` tokens.
        """
        longest = self._cut(1)
        for text in sorted(texts, key=len, reverse=True):
            if len(text) + self.added_per_text <= longest:
                break  # the remaining texts are shorter, and have at most one token per byte
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
