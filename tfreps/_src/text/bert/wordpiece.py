"""WordPieceTokenizer: splits words into BERT's pieces, in Python and in a TensorFlow graph."""

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.text.bert.character_classes import (
    CHINESE,
    characters,
    controls,
    punctuation,
    python_class,
    re2_class,
    replacements,
    spaces,
)
from tfreps._src.text.bert.hugging_face_files import CONTINUATION
from tfreps._src.text.bert.library_tokenizer import LibraryTokenizer
from tfreps._src.text.bert.piece_tokenizer import NONE, PieceGraph
from tfreps._src.text.code_ranges import Ranges, as_ranges

if TYPE_CHECKING:
    import tokenizers

_REMEMBERED, _LONGEST = 1 << 16, 64  # parts of texts whose ids are remembered, and their length


class WordPieceTokenizer(LibraryTokenizer):
    """Tokenizer that splits texts into words, and words into the longest pieces of a vocabulary.

    1. Control, format and private-use characters and U+FFFD are dropped.
    2. If requested, text is lowercased and accents are stripped.
    3. Words are separated by white space. Punctuation marks and, if requested, Chinese
       characters are separate words.
    4. A word is split from its start by repeatedly taking the longest matching piece of the
       vocabulary. Every piece of a word except the first begins with `##`. A word that cannot be
       split in this way, or is too long, becomes a single `[UNK]`.

    In Python, the package `tokenizers` splits texts, so that the pieces are those of Hugging
    Face's `BertTokenizer`, with one exception: `BertTokenizer` recognizes `[MASK]` and other
    special tokens in a text. The graph of core operations uses the character classes of
    `tokenizers` and returns the same pieces, except that it does not sort consecutive accents
    that are not stripped although `strip_accents` applies, such as the tone marks of Hangul. The
    graph with tensorflow-text, which is used if `split_chinese` is `True` and the tokenizer is
    called without `core_ops=True`, limits words to `max_characters_per_word` bytes instead of
    characters, and separates 256 ideographs from U+2B820 onwards and about 100 rare punctuation
    marks that `tokenizers` does not separate.

    Args:
        vocabulary: iterable of str. The pieces in the order of their ids, including `[PAD]`,
            `[UNK]`, `[CLS]`, `[SEP]` and `[MASK]`.
        lowercase: bool. Whether text is lowercased. Defaults to `True`.
        strip_accents: bool or None. Whether accents are stripped. If `None`, they are stripped
            if and only if `lowercase` is `True`. Defaults to `None`.
        split_chinese: bool. Whether every Chinese character is a separate word. Defaults to
            `True`.
        max_characters_per_word: int, positive. Maximum length of a word. Longer words become
            `[UNK]`. Hugging Face uses 100, and Google uses 200. Defaults to 100.
        max_length: int or None. Maximum number of ids per text that models use, special tokens
            included. The tokenizer itself does not apply it. If `None`, the number is not limited.
            Defaults to `None`.
        source: str or path-like object. Name of the vocabulary in error messages. Defaults to
            `"vocabulary"`.

    Attributes:
        vocabulary: list of str. The pieces in the order of their ids.
        padding_id, unknown_id, start_id, separator_id, mask_id: int. Ids of the special tokens.
        special_ids: list of int. Ids of the special tokens and of the unused pieces, such as
            `[unused1]`, in ascending order.

    Raises:
        ValueError: If a special token is missing, a piece is repeated, empty or not a string, or
            contains a lone surrogate, `max_characters_per_word` is less than 1, or `max_length` is
            too small for the special tokens and one other piece.

    Reference: Devlin et al., 2019, "BERT", tokenization.py; transformers, `BertTokenizer`.

    Example:
        >>> from tfreps.text import WordPieceTokenizer
        >>> specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        >>> tokenizer = WordPieceTokenizer([*specials, "caf", "##es", "两", "!"])
        >>> tokenizer.tokenize("Cafés 两两!")
        ['caf', '##es', '两', '两', '!']
        >>> tokenizer(["Cafés!", ""], core_ops=True).to_list()
        [[5, 6, 8], []]
        >>> tokenizer.build_inputs(tokenizer.text_to_ids("两!"))
        ([2, 7, 8, 3], [0, 0, 0, 0])
    """

    SPECIAL_TOKENS: tuple[str, ...] = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
    OPTIONS: dict[str, tuple[type, ...]] = {
        "lowercase": (bool,),
        "strip_accents": (bool, NONE),
        "split_chinese": (bool,),
        "max_characters_per_word": (int,),
        "max_length": (int, NONE),
    }

    def __init__(
        self,
        vocabulary: Iterable[str],
        lowercase: bool = True,
        strip_accents: bool | None = None,
        split_chinese: bool = True,
        max_characters_per_word: int = 100,
        max_length: int | None = None,
        source: str | os.PathLike[str] = "vocabulary",
    ):
        super().__init__(vocabulary, max_length, source)
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.split_chinese = split_chinese
        self.max_characters_per_word = max_characters_per_word
        check_integers(1, max_characters_per_word=max_characters_per_word)
        self.strips_accents: bool = lowercase if strip_accents is None else strip_accents
        self.longest_piece: int = max(len(p.removeprefix(CONTINUATION)) for p in self.vocabulary)

    def _make_library(self) -> "tokenizers.Tokenizer":
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

        library = Tokenizer(
            models.WordPiece(
                self._ids,
                unk_token=self.unknown,
                max_input_chars_per_word=min(self.max_characters_per_word, sys.maxsize),
                continuing_subword_prefix=CONTINUATION,
            )
        )
        library.normalizer = normalizers.BertNormalizer(
            clean_text=True,
            handle_chinese_chars=self.split_chinese,
            strip_accents=self.strips_accents,
            lowercase=self.lowercase,
        )
        library.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return library

    @functools.cached_property
    def _parts(self) -> re.Pattern[str]:
        """Matches parts of a text whose pieces do not depend on the rest of the text."""
        chinese = python_class(CHINESE)
        return re.compile(f"[{chinese}]|[^ {chinese}]+" if self.split_chinese else "[^ ]+")

    @functools.cached_property
    def _remembered(self) -> Callable[[str], list[int]]:
        return functools.lru_cache(_REMEMBERED)(super().text_to_ids)

    def text_to_ids(self, text: str) -> list[int]:
        ids = []
        for part in self._parts.findall(text):
            to_ids = self._remembered if len(part) <= _LONGEST else super().text_to_ids
            ids += to_ids(part)
        return ids

    def texts_to_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return list(map(self.text_to_ids, texts))

    @property
    def _apart(self) -> Ranges:
        return punctuation() + (CHINESE if self.split_chinese else ())

    @property
    def _replacements(self) -> dict[str, str]:
        return replacements(self.lowercase, self.strips_accents)

    @functools.cached_property
    def word_rules(  # pyright: ignore[reportIncompatibleMethodOverride]  # computed once
        self,
    ) -> list[tuple[str, str]]:
        apart = set(characters(self._apart))
        # Characters that become separate words when replaced, such as ≠, which becomes =.
        apart |= {c for c, new in self._replacements.items() if new in apart}
        rules = [
            (f"[{re2_class(controls())}]", ""),
            (f"([{re2_class(as_ranges(sorted(map(ord, apart))))}])", r" \1 "),
        ]
        _, accents = self.dropped_characters
        if accents:  # removes words that consist only of accents, and accents before a word
            rules.append((rf"(^|[{re2_class(spaces())}])[{re2_class(accents)}]+", r"\1"))
        return rules

    @property
    def dropped_characters(self) -> tuple[Ranges, Ranges]:
        return controls(), as_ranges(ord(c) for c, new in self._replacements.items() if not new)

    def _python_steps(self) -> dict[str, Any]:
        apart = python_class(self._apart)
        return {
            "dropped": f"[{python_class(controls())}]",
            "replaced": self._replacements,
            "word": f"[{apart}]|[^{apart}{python_class(spaces())}]+",
            "number": None,
        }

    def make_graph(self, core_ops: bool) -> PieceGraph:
        # Imported here, because it imports TensorFlow.
        from tfreps._src.text.bert.wordpiece_graph import WordPieceGraph

        return WordPieceGraph(self, core_ops)
