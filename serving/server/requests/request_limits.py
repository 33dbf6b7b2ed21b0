"""choose_queue: checks the size of a request and chooses the queue in which it waits."""

import functools
import itertools
import os
import re
import unicodedata
from typing import NamedTuple

import numpy as np

from tfreps._src.files.argument_checks import check_choice, check_integers
from tfreps._src.files.json_files import read_json
from tfreps._src.text.python_rules import python_pattern
from tfreps._src.text.tokenizers import rules_of
from tfreps.serving.server.requests.server_options import MEGABYTE
from tfreps.serving.server.requests.serving_error import ServingError

BATCHED, SINGLE, LONG = "batched", "single", "long"
LEAST = 64  # a shorter text counts as this number of bytes
LONG_BYTES = 2**14  # a request waits in the queue LONG if one of its texts has more bytes
LONG_SHARE = 8  # a request waits in the queue LONG if it has more than 1/8 of the allowed tokens
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
    "all_characters": lambda: r"[\s\S]",
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
        check_choice((None, *PATTERNS), tokens=tokens)
        check_integers(1, or_none=True, most_per_text=most_per_text)
        check_integers(0, added_per_text=added_per_text)
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
            found = pattern(self.tokens).finditer(text.decode("utf-8", "replace"))
            count = sum(1 for _ in itertools.islice(found, most + 1))
            longest = max(longest, self._cut(count))
            if longest > most:
                break
        return longest

    def _cut(self, count):
        count += self.added_per_text
        return count if self.most_per_text is None else min(count, self.most_per_text)


def choose_queue(inputs: dict[str, np.ndarray], counter, options) -> str:
    """Checks the size of a request, and chooses the queue in which its call waits.

    - `"long"` if the request has more than 1/8 of the allowed tokens after padding, or a text of
      more than 16,384 bytes.
    - `"batched"` if `max_batch_size` is above 1, the request has at most `max_batch_size` rows, and
      `max_batch_size` rows of the length of its longest row have at most `max_tokens` tokens.
    - `"single"` otherwise.

    Raises a ServingError if the request exceeds a limit of `options`, a `ServerOptions`.
    """
    longest_bytes = check_bytes(inputs, options.max_text_mb * MEGABYTE)
    size = counter.size(inputs, options.max_text_tokens, options.max_tokens)
    if size.rows and size.longest - counter.added_per_text > options.max_text_tokens:
        raise too_large(
            f"A text may have at most {options.max_text_tokens} tokens; the longest text of "
            "the request has more",
            "max_text_tokens",
        )
    if size.padded > options.max_tokens:
        raise too_large(
            f"After padding, a request may have at most {options.max_tokens} tokens; this "
            f"request counts as {size.padded} tokens, because it has {size.rows} texts, the "
            f"longest with at least {size.longest} tokens",
            "max_tokens",
        )
    if size.padded > options.max_tokens // LONG_SHARE or longest_bytes > LONG_BYTES:
        return LONG
    most_rows = options.batching.max_batch_size
    fits = 1 < most_rows and size.longest * most_rows <= options.max_tokens
    return BATCHED if fits and 0 < rows_of(inputs) <= most_rows else SINGLE


def rows_of(inputs):
    """Returns the size of the first axis of the inputs, or 0 if it differs between inputs."""
    sizes = {value.shape[:1] for value in inputs.values()}
    return sizes.pop()[0] if len(sizes) == 1 and sizes != {()} else 0


def check_bytes(inputs, most):
    """Returns the number of bytes of the longest text in the inputs.

    Raises a ServingError if an input has more than `most` bytes after its texts are padded to the
    length of the longest, and to at least 64 bytes.
    """
    longest = 0
    for name, value in inputs.items():
        if value.dtype == object and value.size:
            longest_here = max(map(len, value.flat))
            longest = max(longest, longest_here)
            padded = max(longest_here, LEAST)
            if padded * value.size > most:
                raise too_large(
                    (
                        f"The texts of input '{name}' may have at most {most} bytes after padding; "
                        f"they have {padded * value.size}, because each text is padded to {padded} "
                        f"bytes and their number is {value.size}"
                    ),
                    "max_text_mb",
                )
    return longest


def check_response(size, options, what="The response"):
    """Raises a ServingError if a response of `size` bytes exceeds the limit of the server.

    `what` is the subject of the error message.
    """
    most = options.max_response_mb * MEGABYTE
    if size > most:
        raise too_large(
            f"{what} may have at most {most} bytes; it has at least {size} bytes",
            "max_response_mb",
        )


def too_large(message, option):
    """Returns the `ServingError` for a request that exceeds the limit of a server option.

    The text of the error is `message`, to which the option and a remedy are added.
    """
    text = f"{message} (server option `{option}`). Send smaller requests, or increase this option."
    return ServingError("RESOURCE_EXHAUSTED", text, 413)
