"""Vocabulary: an ordered list of tokens, one per line in its file."""

import os
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tfreps._src.files.argument_checks import check_integers, check_list
from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.utf8_files import read_utf8, split_lines
from tfreps._src.text.char_ids import SENTENCE_END, SENTENCE_START, token_rows

UNKNOWN = "<UNK>"
SPECIAL_TOKENS = (SENTENCE_START, SENTENCE_END, UNKNOWN)
_SKIPPED_LINE = "!!!MAXTERMID"  # bilm-tf skips this line without assigning an id


class Vocabulary:
    """List of tokens whose ids are their positions in the list.

    A vocabulary file is UTF-8 text with one token per line. A line ends with a line feed or with
    a carriage return and a line feed; other white space is not stripped. The special tokens
    `<S>`, `</S>` and `<UNK>` are required and may be on any line. Tokens are case-sensitive.

    Args:
        tokens: iterable of str. The tokens in the order of their ids.
        source: str. Name of the vocabulary in error messages; `read` sets it to the path of the
            file. Defaults to `"vocabulary"`.

    Attributes:
        tokens: list of str. The tokens in the order of their ids.
        start_id: int. Id of `<S>`.
        end_id: int. Id of `</S>`.
        unknown_id: int. Id of `<UNK>`.

    Raises:
        ValueError: If a special token is missing, or a token is repeated, empty or not a string,
            starts or ends with white space, or contains a line feed or NUL.

    Reference: bilm-tf, `Vocabulary`. Its files can be read without changes; a
    `!!!MAXTERMID` line gets no id, as in bilm-tf.

    Example:
        >>> from tfreps.text import Vocabulary
        >>> vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "the", "cat"])
        >>> vocabulary.tokens_to_ids(["the", "dog"])
        [3, 2]
        >>> len(vocabulary), "cat" in vocabulary
        (5, True)
    """

    def __init__(self, tokens: Iterable[str], source: str = "vocabulary"):
        self.tokens: list[str] = list(tokens)
        self.source: str = str(source)
        self._ids = _positions(enumerate(self.tokens), self.source)
        self.start_id: int = self._ids[SENTENCE_START]
        self.end_id: int = self._ids[SENTENCE_END]
        self.unknown_id: int = self._ids[UNKNOWN]

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Vocabulary":
        """Reads a vocabulary from a file with one token per line.

        Args:
            path: str or path-like object. Path of the file, which error messages name.

        Raises:
            ValueError: If the file cannot be read, or `Vocabulary` rejects a token.
        """
        lines = split_lines(read_utf8(path, "the vocabulary")) or [""]
        if _SKIPPED_LINE in lines:
            numbered = [(n, line) for n, line in enumerate(lines) if line != _SKIPPED_LINE]
            _positions(numbered, str(path))  # raises errors with the line numbers of the file
            lines = [line for _, line in numbered]
        return cls(lines, source=str(path))

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], min_count: int = 1, max_size: int | None = None
    ) -> "Vocabulary":
        """Builds a vocabulary from token counts.

        The order is `<S>`, `</S>`, `<UNK>`, then the other tokens by descending count; tokens of
        equal count are sorted by Unicode code points. Sampled softmax relies on this order.

        Args:
            counts: mapping from str to int. Number of occurrences of each token. Counts of the
                three special tokens are ignored.
            min_count: int. Minimum count for a token to be included in the vocabulary. Defaults
                to 1.
            max_size: int or None. Maximum size of the vocabulary, including the special tokens.
                If `None`, the size is not limited. Defaults to `None`.

        Raises:
            ValueError: If there are tokens but none occurs at least `min_count` times, an argument
                is out of range, or `Vocabulary` rejects a token.
        """
        return cls(with_most_frequent(SPECIAL_TOKENS, counts, SPECIAL_TOKENS, min_count, max_size))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the tokens to the file `path`, one per line. The write is atomic."""
        write_text(path, "".join(token + "\n" for token in self.tokens))

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def tokens_to_ids(self, tokens: Iterable[str]) -> list[int]:
        """Returns the ids of tokens; tokens outside the vocabulary get the id of `<UNK>`.

        Raises:
            ValueError: If `tokens` is a string.
        """
        check_list("`tokens`", tokens, "tokens")
        get = self._ids.get
        unknown = self.unknown_id
        return [get(token, unknown) for token in tokens]

    def character_table(self, max_characters: int = 50) -> np.ndarray:
        """Returns the character ids of every token.

        Args:
            max_characters: int, at least 3. Number of ids C per token. Defaults to 50.

        Returns:
            int32 NumPy array, shape `[V, C]`, where V is the number of tokens. No id is 0. `<S>`
            and `</S>` have the ids of the sentence boundaries; `<UNK>` has the ids of its
            characters.
        """
        return token_rows(self.tokens, max_characters)

    def check_order(self, counts: Mapping[str, int] | Sequence[int] | np.ndarray) -> None:
        """Checks that no token is more frequent than a token before it.

        Sampled softmax draws negative samples under this assumption. If it does not hold, the
        reported loss is far too low. The special tokens may be in any position.

        Args:
            counts: mapping or sequence of int. Number of occurrences of each token in the
                training text, by token or by id.

        Raises:
            ValueError: If the order is wrong (the message gives the first pair of tokens in the
                wrong order), or if a sequence does not contain one count per token.
        """
        if not isinstance(counts, Mapping):
            counts = dict(zip(self.tokens, counts, strict=True))
        rarest = 0
        fewest = None
        for index, token in enumerate(self.tokens):
            if token in SPECIAL_TOKENS:
                continue
            count = int(counts.get(token, 0))
            if fewest is not None and count > fewest:
                raise ValueError(
                    f"{self.source} is not sorted by descending count, as sampled softmax "
                    f"requires: {self.tokens[rarest]!r} (id {rarest}) occurs {fewest} times "
                    f"in the text, but {token!r} (id {index}) occurs {count} times. Build "
                    "the vocabulary from this text with `tfreps build-vocabulary`, or train with "
                    "the full softmax."
                )
            rarest = index
            fewest = count


def with_most_frequent(
    first: Sequence[str],
    counts: Mapping[str, int],
    special: Sequence[str],
    min_count: int,
    max_size: int | None,
) -> list[str]:
    """Returns a list of `first`, followed by the other tokens by descending count.

    Tokens in `special` and tokens that occur less than `min_count` times are left out. The list
    has at most `max_size` tokens. Tokens of equal count are sorted by Unicode code points.
    """
    check_integers(1, min_count=min_count)
    if max_size is not None and max_size <= len(first):
        raise ValueError(
            f"`max_size` must be greater than {len(first)}, the number of special and reserved "
            f"ids; got {max_size}."
        )
    rest = [token for token in counts if token not in special]
    kept = [token for token in rest if counts[token] >= min_count]
    if rest and not kept:
        token = max(rest, key=lambda token: counts[token])
        raise ValueError(
            f"`min_count` must be at most {counts[token]:,}, the count of the most frequent token "
            f"{token!r}; got {min_count:,}. With a larger value, the vocabulary has no tokens."
        )
    kept.sort(key=lambda token: (-counts[token], token))
    return [*first, *kept][:max_size]


def _positions(numbered: Iterable[tuple[int, str]], source: str) -> dict[str, int]:
    """Returns a dict from tokens to positions, given pairs `(position, token)`.

    Raises a ValueError if a token is not valid or is repeated, or if a special token is missing.
    """
    positions: dict[str, int] = {}
    for position, token in numbered:
        line = position + 1
        if not isinstance(token, str):
            raise ValueError(f"{source}, line {line}: expected a str; got {token!r}.")
        if not token.strip():
            raise ValueError(
                f"{source}, line {line}: the line is blank. Every line must contain one token."
            )
        if token != token.strip():
            raise ValueError(
                f"{source}, line {line}: a token must not start or end with white space; got "
                f"{token!r}. Remove the white space; text that is split at white space never "
                "contains such a token."
            )
        if "\n" in token or "\0" in token:
            raise ValueError(
                f"{source}, line {line}: a token must not contain a line feed or NUL; got "
                f"{token!r}. Remove these characters."
            )
        if positions.setdefault(token, position) != position:
            raise ValueError(
                f"{source}, line {line}: {token!r} is already on line {positions[token] + 1}. "
                "Every token must occur only once, because its line determines its id."
            )
    missing = [token for token in SPECIAL_TOKENS if token not in positions]
    if missing:
        raise ValueError(
            f"{source}: found no {' or '.join(missing)} among {len(positions)} tokens. A "
            f"vocabulary must contain {', '.join(SPECIAL_TOKENS)}, each on its own line."
        )
    return positions
