"""WordCharIndexer: converts tokens to the ids of a word and of its Unicode characters."""

import collections
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfreps._src.files.argument_checks import check_integers, check_list
from tfreps._src.files.json_files import read_json, write_json

SENTENCE_START, SENTENCE_END = "<bos>", "<eos>"
# Special entries, which have the last ids in this order; padding is last, as in `CharCNNEncoder`.
SPECIAL_CHARACTERS = "<oov>", SENTENCE_START, SENTENCE_END, "<bow>", "<eow>", "<pad>"
SPECIAL_WORDS = "<oov>", SENTENCE_START, SENTENCE_END
LEAST_CHARACTERS = len(SENTENCE_START) + 2  # ELMoForManyLangs makes room for "<bos>" and markers


class WordCharIndexer:
    """Converter from tokens to the ids that `ManyLangsBiLM` reads: a word and its characters.

    If there are words, the first id of a token is the id of the word. If there are characters, the
    next C ids are those of the start of a word, the Unicode characters (not bytes), the end of a
    word, and padding. Words and characters that are not in the lists have the id of `<oov>`. Of a
    token with more than `max_characters - 2` characters, only the first are used, also to look up
    the word. The tokens `<bos>` and `<eos>` are the sentence boundaries. An id of 0 means that
    there is no token.

    Args:
        characters: list of str, or None. The characters with the ids 1, 2, ... The six ids after
            them are those of `<oov>`, `<bos>`, `<eos>`, start of word, end of word, and padding. If
            `None`, there are no character ids.
        words: list of str, or None. The words with the ids 1, 2, ... The three ids after them are
            those of `<oov>`, `<bos>` and `<eos>`. If `None` (the default), there are no words.
        max_characters: int, at least 7. Number of character ids C per token. Defaults to 50.

    Call arguments:
        sentences: list of lists of str. Tokenized sentences.

    Returns:
        int32 NumPy array, shape `[B, T, 1 + C]`, `[B, T, C]` without words, or `[B, T, 1]` without
        characters; 0 on padding.

    Raises:
        ValueError: If `max_characters` is less than 7, there are neither words nor characters,
            `characters` or `words` contain an entry twice or a special one, or a sentence is not a
            list of str.

    Reference: ELMoForManyLangs, `create_one_batch`; Che et al., 2018, "Towards Better UD Parsing".

    Example:
        >>> indexer = WordCharIndexer(["d", "g", "o"], ["dog"], max_characters=7)
        >>> indexer([["dog", "dé"]]).tolist()
        [[[1, 7, 1, 3, 2, 8, 9, 9], [2, 7, 1, 4, 8, 9, 9, 9]]]
    """

    def __init__(
        self,
        characters: Sequence[str] | None,
        words: Sequence[str] | None = None,
        max_characters: int = 50,
    ):
        check_integers(LEAST_CHARACTERS, max_characters=max_characters)
        if words is None and characters is None:
            raise ValueError(
                "`characters` or `words` must be a list; both are None. Pass at least one."
            )
        self.characters: list[str] | None = None if characters is None else [*characters]
        self.words: list[str] | None = None if words is None else [*words]
        self.max_characters: int = max_characters
        known = [*(characters or ()), *SPECIAL_CHARACTERS]
        self._characters = {c: i for i, c in enumerate(known, 1)}
        self._words = {w: i for i, w in enumerate([*(words or ()), *SPECIAL_WORDS], 1)}
        _check_distinct("characters", self.characters or [], SPECIAL_CHARACTERS)
        _check_distinct("words", self.words or [], SPECIAL_WORDS)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "WordCharIndexer":
        """Reads a file that `write` wrote, and returns the indexer.

        Args:
            path: str or path-like. Path of the file.

        Raises:
            ValueError: If the file cannot be read or was not written by `write`.
        """
        config = read_json(path)
        is_valid = set(config) == {"characters", "words", "max_characters"}
        lists = [config.get(name) for name in ("characters", "words")]
        if not is_valid or not all(entries is None or _are_strings(entries) for entries in lists):
            raise ValueError(
                f"{path} must have the keys characters and words, whose values are lists of "
                "strings or null, and max_characters, whose value is an integer; got "
                f"{str(config)[:60]}. Put the original file back."
            )
        try:
            return cls(**config)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error

    def write(self, path: str | os.PathLike[str]) -> None:
        """Writes the characters and words to a JSON file.

        Args:
            path: str or path-like. Path of the file.
        """
        write_json(path, self.get_config(), indent=None, ensure_ascii=False)

    def get_config(self) -> dict[str, Any]:
        """Returns the arguments of the constructor as a JSON-serializable dict."""
        names = "characters", "words", "max_characters"
        return {name: getattr(self, name) for name in names}

    @property
    def num_character_ids(self) -> int | None:
        """Number of different character ids, including 0, or `None` if there are no characters."""
        if self.characters is None:
            return None
        return len(self.characters) + len(SPECIAL_CHARACTERS) + 1

    @property
    def vocabulary_size(self) -> int | None:
        """Number of word ids, without 0, or `None` if there are no words."""
        return None if self.words is None else len(self.words) + len(SPECIAL_WORDS)

    def __call__(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        check_list("`sentences`", sentences, "sentences")
        longest = 0
        for number, sentence in enumerate(sentences):
            check_list("Each of `sentences`", sentence, "tokens")
            _check_tokens(sentence, number)
            longest = max(longest, len(sentence))
        width = (self.characters is not None) * self.max_characters + (self.words is not None)
        ids = np.zeros([len(sentences), longest, width], np.int32)  # [B, T, 1 + C]
        for number, sentence in enumerate(sentences):
            for position, token in enumerate(sentence):
                ids[number, position] = self._row(token)
        return ids

    def _row(self, token: str) -> np.ndarray:
        """Returns the ids of one token, int32 `[1 + C]`."""
        known, row = self._characters, []
        token = token[: self.max_characters - 2]
        if self.characters is not None:
            is_boundary = token in (SENTENCE_START, SENTENCE_END)
            inside = [known[token]] if is_boundary else [self._character(c) for c in token]
            row = [known["<bow>"], *inside, known["<eow>"]]
            row += [known["<pad>"]] * (self.max_characters - len(row))
        if self.words is not None:
            row = [self._words.get(token, self._words["<oov>"]), *row]
        return np.array(row, np.int32)

    def _character(self, character: str) -> int:
        return self._characters.get(character, self._characters["<oov>"])


def boundary_rows(
    num_character_ids: int | None, vocabulary_size: int | None, max_characters: int
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ids of the sentence start and of the sentence end, two int32 arrays `[1 + C]`."""
    rows = []
    for word, name in enumerate((SENTENCE_START, SENTENCE_END), -1):
        row = [] if vocabulary_size is None else [vocabulary_size + word]
        if num_character_ids is not None:
            # Id of `<oov>`, the first of the special characters.
            first = num_character_ids - len(SPECIAL_CHARACTERS)
            ids = dict(zip(SPECIAL_CHARACTERS, range(first, num_character_ids), strict=True))
            row += [ids["<bow>"], ids[name], ids["<eow>"]]
            row += [ids["<pad>"]] * (max_characters - 3)
        rows.append(np.array(row, np.int32))
    return rows[0], rows[1]


def _are_strings(entries: Any) -> bool:
    return isinstance(entries, list) and all(isinstance(entry, str) for entry in entries)


def _check_distinct(name: str, entries: list[str], special: tuple[str, ...]) -> None:
    for position, entry in enumerate(entries):
        if entry in special:
            raise ValueError(
                f"`{name}` must not contain the special entries {', '.join(special)}, which "
                f"are added; `{name}[{position}]` is {entry!r}. Remove this entry."
            )
    if len(set(entries)) < len(entries):
        [(twice, _)] = collections.Counter(entries).most_common(1)
        raise ValueError(
            f"`{name}` must contain each entry once; {twice!r} occurs more than once. Remove the "
            "repeated entries."
        )


def _check_tokens(sentence: Sequence[str], number: int) -> None:
    for position, token in enumerate(sentence):
        if not isinstance(token, str):
            raise ValueError(
                f"`sentences` must contain lists of str; `sentences[{number}][{position}]` is "
                f"{token!r} of type {type(token).__name__}."
            )
