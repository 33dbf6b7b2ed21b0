"""CharacterTokenizer: splits text into characters, whole Latin words and numbers."""

import functools
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tfreps._src.files.argument_checks import check_list
from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.json_files import read_json
from tfreps._src.text.bert.character_classes import (
    NUMBER,
    NUMBER_PATTERN,
    WORD_PATTERN,
    python_class,
    re2_class,
    replacements,
    token_pattern,
    white_space,
)
from tfreps._src.text.bert.piece_tokenizer import NONE, PieceGraph, PieceTokenizer
from tfreps._src.text.code_ranges import Ranges
from tfreps._src.text.vocabulary import with_most_frequent

UNUSED = "#UNUSED[0-9]+#"
FIRST_ID = 20  # smaller ids are special tokens or reserved
LAST_ID = 2**20 - 1  # limit for dictionaries, because every id up to the largest takes memory


class CharacterTokenizer(PieceTokenizer):
    """Tokenizer that splits text into characters, whole Latin words and numbers.

    A number is a run of the digits 0 to 9, or two such runs joined by a period: `3.5` is one
    number, but `1,000` is two numbers and a comma. A Latin word is a run of the letters A to Z
    in either case; accented letters are not part of it, as in aespresso's dictionary. White
    space separates tokens and is dropped, unless `keep_white_space` is `True`.

    `from_texts`, `from_counts` and `from_dictionary` use the ids of aespresso: 0 is `#PAD#`, 1
    `#UNK#`, 2 `#CLS#`, 3 `#SEP#`, 4 `#MASK#` and 5 `#NUM#`; 6 to 19 are reserved, and ids from 20
    onwards are characters and words. The Python implementation and the graph, which uses only core
    TensorFlow operations, agree on every text.

    Args:
        vocabulary: iterable of str. The tokens in the order of their ids, including the six
            special tokens. `from_texts` builds a vocabulary, and `from_dictionary` reads one.
        lowercase: bool. Whether text is lowercased, one character at a time. Defaults to `True`.
        numbers: bool. Whether a number becomes `#NUM#`. If `False`, its digits and periods are
            separate tokens. Defaults to `True`.
        whole_words: bool. Whether a Latin word is one token. If `False`, its letters are separate
            tokens. Defaults to `True`.
        keep_white_space: bool. Whether each white space character is a token. Defaults to
            `False`.
        max_length: int or None. Maximum number of ids per text that models use, special tokens
            included. The tokenizer itself does not apply it. If `None`, the number is not limited.
            Defaults to `None`.
        source: str or path-like object. Name of the vocabulary in error messages. Defaults to
            `"vocabulary"`.

    Attributes:
        vocabulary: list of str. The tokens in the order of their ids.
        padding_id, unknown_id, start_id, separator_id, mask_id: int. Ids of the special tokens.
        special_ids: list of int. Ids of special, reserved and unused tokens, in ascending order.

    Raises:
        ValueError: If a special token is missing, a token is repeated, empty or not a string, a
            token contains a lone surrogate, or `max_length` is too small for the special tokens
            and one other token.

    Reference: aespresso/a_journey_into_math_of_ml, part 04. The article describes the handling
    of numbers and whole words; the released code does not implement it.

    Example:
        >>> from tfreps.text import CharacterTokenizer
        >>> tokenizer = CharacterTokenizer.from_texts(["房间 3.5 分", "Wifi 很快"])
        >>> tokenizer.tokenize("WIFI 3 分!")
        ['wifi', '#NUM#', '分', '!']
        >>> tokenizer(["wifi 3 分!"]).to_list()
        [[20, 5, 21, 1]]
    """

    SPECIAL_TOKENS: tuple[str, ...] = "#PAD#", "#UNK#", "#CLS#", "#SEP#", "#MASK#", NUMBER
    OPTIONS: dict[str, tuple[type, ...]] = {
        **dict.fromkeys(("lowercase", "numbers", "whole_words", "keep_white_space"), (bool,)),
        "max_length": (int, NONE),
    }

    def __init__(
        self,
        vocabulary: Iterable[str],
        lowercase: bool = True,
        numbers: bool = True,
        whole_words: bool = True,
        keep_white_space: bool = False,
        max_length: int | None = None,
        source: str | os.PathLike[str] = "vocabulary",
    ):
        super().__init__(vocabulary, max_length, source)
        self.lowercase = lowercase
        self.numbers = numbers
        self.whole_words = whole_words
        self.keep_white_space = keep_white_space
        other = "." if keep_white_space else f"[^{python_class(white_space())}]"
        self._tokens = re.compile(token_pattern(numbers, whole_words, other), re.DOTALL)
        self._number = re.compile(NUMBER_PATTERN)
        self._replacements = {ord(c): new for c, new in replacements(lowercase, False).items()}

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        min_count: int = 1,
        max_size: int | None = None,
        progress: Callable[[int, int], None] | None = None,
        **options: Any,
    ) -> "CharacterTokenizer":
        """Creates a tokenizer whose vocabulary is built from texts.

        Tokens are sorted by descending count, and tokens of equal count by code point.

        Args:
            texts: iterable of str. The texts, which should come only from the training data.
            min_count: int. Minimum count for a token to be included in the vocabulary. Defaults
                to 1.
            max_size: int or None. Maximum size of the vocabulary, including the 20 special and
                reserved ids. If `None`, the size is not limited. Defaults to `None`.
            progress: callable or None. Called after every text with the number of tokens and the
                number of distinct tokens so far. Defaults to `None`.
            **options: Arguments of the constructor other than `vocabulary`.

        Raises:
            ValueError: If `texts` is a single string, `min_count` is less than 1, `max_size` is
                less than 21, there are tokens other than special tokens but none occurs at least
                `min_count` times, or the constructor rejects the tokens or an option.
        """
        counts = count_tokens(texts, progress, **options)
        return cls.from_counts(counts, min_count, max_size, **options)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        min_count: int = 1,
        max_size: int | None = None,
        **options: Any,
    ) -> "CharacterTokenizer":
        """Creates a tokenizer from the counts of the tokens that `tokenize` returns.

        Args:
            counts: mapping from str to int. Number of occurrences of each token. Counts of the
                special tokens are ignored.
            min_count: int. Minimum count for a token to be included in the vocabulary. Defaults
                to 1.
            max_size: int or None. Maximum size of the vocabulary, including the 20 special and
                reserved ids. If `None`, the size is not limited. Defaults to `None`.
            **options: Arguments of the constructor other than `vocabulary`.

        Raises:
            ValueError: If `min_count` is less than 1, `max_size` is less than 21, there are tokens
                other than special tokens but none occurs at least `min_count` times, or the
                constructor rejects the tokens or an option.
        """
        first = _placed({}, FIRST_ID)
        tokens = with_most_frequent(first, counts, cls.SPECIAL_TOKENS, min_count, max_size)
        return cls(tokens, **options)

    @classmethod
    def from_dictionary(
        cls, path: str | os.PathLike[str], vocabulary_size: int | None = None, **options: Any
    ) -> "CharacterTokenizer":
        """Reads a dictionary of ids, such as bert_word2idx.json or bert_word2idx_extend.json.

        Args:
            path: str or path-like object. JSON file that maps each token to its id. The six
                special tokens may be missing, as they are in bert_word2idx_extend.json.
            vocabulary_size: int or None. Number of ids. Tokens whose id is at least this number
                are treated as unknown. aespresso's models have embeddings for 32,162 ids, so six
                tokens of bert_word2idx_extend.json are unknown to them. If `None`, all tokens are
                known. Defaults to `None`.
            **options: Arguments of the constructor other than `vocabulary` and `source`.

        Raises:
            ValueError: If the file is not such a JSON object, an id is not an integer in
                [0, 1048575] or is repeated or reserved, a special token has the wrong id,
                `vocabulary_size` is less than 6, or the constructor rejects a token or an option.
        """
        ids = read_json(path)
        own = {token: position for position, token in enumerate(cls.SPECIAL_TOKENS)}
        first: dict[int, str] = {}
        for token, position in ids.items():
            if type(position) is not int or not 0 <= position <= LAST_ID:
                raise ValueError(
                    f"{path}: the id of {token!r} must be an integer in [0, {LAST_ID}]; "
                    f"got {position!r}."
                )
            if token in own and position != own[token]:
                raise ValueError(f"{path}: {token} must have the id {own[token]}; got {position}.")
            if token not in own and position < FIRST_ID:
                raise ValueError(
                    f"{path}: the id of {token!r} must be at least {FIRST_ID}, because smaller ids "
                    f"are reserved or belong to special tokens; got {position}."
                )
            if first.setdefault(position, token) != token:
                raise ValueError(
                    f"{path}: {first[position]!r} and {token!r} have the same id, {position}. Give "
                    "every token its own id."
                )
        size = max([FIRST_ID - 1, *first]) + 1 if vocabulary_size is None else vocabulary_size
        return cls(_placed(first, size), source=str(path), **options)

    def write_dictionary(self, path: str | os.PathLike[str]) -> None:
        """Writes a JSON file that maps each token to its id. The write is atomic.

        `from_dictionary` can read the file if the ids of special tokens are those of aespresso and
        all other tokens have ids of at least 20.

        Args:
            path: str or path-like object. Path of the file.
        """
        unused = re.compile(UNUSED)
        ids = {t: n for n, t in enumerate(self.vocabulary) if not unused.fullmatch(t)}
        write_text(path, json.dumps(ids, ensure_ascii=False, indent=0) + "\n")

    def tokenize(self, text: str) -> list[str]:
        tokens = self._tokens.findall(text.replace("\0", "").translate(self._replacements))
        if self.numbers:
            tokens = [NUMBER if self._number.fullmatch(token) else token for token in tokens]
        return tokens

    @functools.cached_property
    def word_rules(  # pyright: ignore[reportIncompatibleMethodOverride]  # computed once
        self,
    ) -> list[tuple[str, str]]:
        word = WORD_PATTERN
        # The Kelvin sign is lowercased to k, and İ to i and a combining dot, which ends a word.
        if self.lowercase:
            word = "[A-Za-z\u212a]*İ|[A-Za-z\u212a]+"
        other = f"[^{re2_class(white_space())}]"
        token = token_pattern(self.numbers, self.whole_words, other, word)
        return [(r"\x00", ""), (f"({token})", r" \1 ")]

    @property
    def dropped_characters(self) -> tuple[Ranges, Ranges]:
        return ((0, 0),), ()

    def _python_steps(self) -> dict[str, Any]:
        return {
            "dropped": r"\x00",
            "replaced": {chr(code): new for code, new in self._replacements.items()},
            "word": self._tokens.pattern,
            "number": NUMBER if self.numbers else None,
        }

    def is_special(self, token: str) -> bool:
        return token in self.SPECIAL_TOKENS or bool(re.fullmatch(UNUSED, token))

    def make_graph(self, core_ops: bool) -> PieceGraph:
        # Imported here, because it imports TensorFlow.
        from tfreps._src.text.bert.character_graph import CharacterGraph

        return CharacterGraph(self)


def count_tokens(
    texts: Iterable[str], progress: Callable[[int, int], None] | None = None, **options: Any
) -> Counter[str]:
    """Returns a `Counter` of the tokens in texts; no token is replaced with `#UNK#`."""
    check_list("`texts`", texts)
    tokenize = CharacterTokenizer(CharacterTokenizer.SPECIAL_TOKENS, **options).tokenize
    counts: Counter[str] = Counter()
    total = 0
    for text in texts:
        tokens = tokenize(text)
        counts.update(tokens)
        total += len(tokens)
        if progress is not None:
            progress(total, len(counts))
    return counts


def _placed(tokens: Mapping[int, str], size: int) -> list[str]:
    """Returns the list of the tokens whose ids are less than `size`, in the order of their ids.

    Ids without a token get names of the form `#UNUSED...#`.
    """
    special = dict(enumerate(CharacterTokenizer.SPECIAL_TOKENS))
    return [special.get(n) or tokens.get(n) or f"#UNUSED{n}#" for n in range(size)]
