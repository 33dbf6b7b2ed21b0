"""Vocabulary: an ordered list of tokens, one per line in its file."""

import os
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tfreps.files.atomic_files import write_text
from tfreps.files.utf8_files import read_utf8
from tfreps.text.char_ids import SENTENCE_END, SENTENCE_START, token_rows

UNKNOWN = "<UNK>"
SPECIAL_TOKENS = (SENTENCE_START, SENTENCE_END, UNKNOWN)
_SKIPPED_LINE = "!!!MAXTERMID"  # bilm-tf passes over this line without using an id


class Vocabulary:
    """A list of tokens whose ids are their places in the list.

    On disk a vocabulary is UTF-8 text with one token per line; a line ends with a line feed or
    with carriage return and line feed, and nothing else is stripped. `<S>`, `</S>` and `<UNK>`
    must be there, anywhere. Character case counts.

    Args:
        tokens: the tokens in the order of their ids.
        source: str. How errors call the vocabulary; `read` puts the file name here.

    Raises:
        ValueError: a special token is missing, a token comes twice, is empty, or has white
            space around it.

    Reference: bilm-tf, `Vocabulary`, whose files are read unchanged (a line `!!!MAXTERMID`
    uses no id, as there).

    Example:
        >>> from tfreps.text import Vocabulary
        >>> vocabulary = Vocabulary(["<S>", "</S>", "<UNK>", "the", "cat"])
        >>> vocabulary.ids(["the", "dog"])
        [3, 2]
        >>> len(vocabulary), "cat" in vocabulary
        (5, True)
    """

    def __init__(self, tokens: Iterable[str], source: str = "vocabulary"):
        self.tokens = list(tokens)
        self.source = str(source)
        self._ids = _places(enumerate(self.tokens), self.source)
        self.start_id = self._ids[SENTENCE_START]
        self.end_id = self._ids[SENTENCE_END]
        self.unknown_id = self._ids[UNKNOWN]

    @classmethod
    def read(cls, path: str | os.PathLike) -> "Vocabulary":
        """Reads a vocabulary file; errors name the file and the line."""
        text = read_utf8(path, "the vocabulary")
        lines = text.removesuffix("\n").split("\n")
        if "\r" in text:
            lines = [line.removesuffix("\r") for line in lines]
        if _SKIPPED_LINE in text:
            numbered = [(n, line) for n, line in enumerate(lines) if line != _SKIPPED_LINE]
            _places(numbered, str(path))  # for errors that name the line of the file
            lines = [line for _, line in numbered]
        return cls(lines, source=str(path))

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], min_count: int = 1, max_size: int | None = None
    ) -> "Vocabulary":
        """Builds a vocabulary from counted tokens.

        `<S>`, `</S>`, `<UNK>`, then the other tokens by falling count and, where counts are
        equal, by Unicode code points. Sampled softmax relies on that order.

        Args:
            counts: token -> how often it occurs. Counts of the three special tokens are ignored.
            min_count: int. Rarer tokens are left out.
            max_size: int or None. Largest size, special tokens included.

        Returns:
            Vocabulary.

        Raises:
            ValueError: `min_count` leaves no token of those counted.
        """
        if min_count < 1:
            raise ValueError(f"`min_count` must be at least 1; got {min_count}.")
        if max_size is not None and max_size <= len(SPECIAL_TOKENS):
            raise ValueError(
                f"`max_size` must leave room for tokens next to the {len(SPECIAL_TOKENS)} special "
                f"tokens; got {max_size}."
            )
        kept = [t for t, n in counts.items() if n >= min_count and t not in SPECIAL_TOKENS]
        check_left(kept, counts, min_count, SPECIAL_TOKENS)
        kept.sort(key=lambda token: (-counts[token], token))
        return cls([*SPECIAL_TOKENS, *kept][:max_size])

    def write(self, path: str | os.PathLike) -> None:
        """Writes the file that `read` reads, whole or not at all."""
        write_text(path, "".join(token + "\n" for token in self.tokens))

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        return token in self._ids

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Returns the ids of tokens; a token outside the vocabulary has the id of `<UNK>`."""
        get = self._ids.get
        unknown = self.unknown_id
        return [get(token, unknown) for token in tokens]

    def character_table(self, max_characters: int = 50) -> np.ndarray:
        """Returns the character ids of every token.

        Args:
            max_characters: int, at least 3.

        Returns:
            int32 NumPy array, shape `[V, C]`; 0 never occurs in it. The rows of `<S>` and `</S>`
            are those of the sentence boundaries, `<UNK>` is spelled out.
        """
        return token_rows(self.tokens, max_characters)

    def check_order(self, counts: Mapping[str, int] | Sequence[int]) -> None:
        """Checks that no token is more frequent than one before it.

        The negatives of a sampled softmax are drawn on that assumption; where it fails, the
        loss looks far too good. The special tokens may stand anywhere.

        Args:
            counts: how often each token occurs in the training text, by token or by id.

        Raises:
            ValueError: naming the first pair of tokens in the wrong order.
        """
        if not isinstance(counts, Mapping):
            counts = dict(zip(self.tokens, counts, strict=True))
        rarest = None
        fewest = None
        for index, token in enumerate(self.tokens):
            if token in SPECIAL_TOKENS:
                continue
            count = int(counts.get(token, 0))
            if fewest is not None and count > fewest:
                raise ValueError(
                    f"{self.source} is not sorted by falling count, as a sampled softmax needs "
                    f"it: {self.tokens[rarest]!r} (line {rarest + 1}) occurs {fewest} times in "
                    f"the text, but {token!r} (line {index + 1}) {count} times. Build the "
                    "vocabulary from this text with `tfreps build-vocabulary`, or train with "
                    "the full softmax."
                )
            rarest = index
            fewest = count


def check_left(
    kept: Sequence[str], counts: Mapping[str, int], min_count: int, special: Sequence[str]
) -> None:
    """Raises a ValueError if tokens were counted, but none often enough."""
    rest = [token for token in counts if token not in special]
    if rest and not kept:
        token = max(rest, key=counts.get)
        raise ValueError(
            f"`min_count` {min_count} leaves no token in the vocabulary: the most frequent one, "
            f"{token!r}, occurs {counts[token]:,} times. Take a smaller one."
        )


def _places(numbered: Iterable[tuple[int, str]], source: str) -> dict[str, int]:
    """Token -> place; refuses everything that bilm-tf would take without a word and get wrong."""
    places: dict[str, int] = {}
    for place, token in numbered:
        line = place + 1
        if not isinstance(token, str):
            raise ValueError(f"{source}, line {line}: expected a str, got {token!r}.")
        if not token.strip():
            raise ValueError(f"{source}, line {line}: blank. Every line must hold one token.")
        if token != token.strip():
            raise ValueError(
                f"{source}, line {line}: white space around the token in {token!r}. Such a token "
                "never occurs in text split at white space; remove the spaces."
            )
        if "\n" in token or "\0" in token:
            raise ValueError(f"{source}, line {line}: line feed or NUL inside {token!r}.")
        if places.setdefault(token, place) != place:
            raise ValueError(
                f"{source}, line {line}: {token!r} is already on line {places[token] + 1}. "
                "Every token must occur once, since its line is its id."
            )
    missing = [token for token in SPECIAL_TOKENS if token not in places]
    if missing:
        raise ValueError(
            f"{source}: {' and '.join(missing)} missing among {len(places)} tokens. A "
            f"vocabulary needs {', '.join(SPECIAL_TOKENS)}, each on a line of its own."
        )
    return places
