"""WordPieceTokenizer: splits words into BERT's pieces, in Python and in a TensorFlow graph."""

import functools
import os
import re
from collections.abc import Iterable
from typing import Any

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
from tfreps._src.text.bert.piece_tokenizer import NONE, PieceGraph, PieceTokenizer
from tfreps._src.text.code_ranges import Ranges, as_ranges

CONTINUATION = "##"


class WordPieceTokenizer(PieceTokenizer):
    """Tokenizer that splits texts into words, and words into the longest pieces of a vocabulary.

    1. Control, format and private-use characters and U+FFFD are dropped.
    2. If requested, text is lowercased and accents are stripped.
    3. Words are separated by white space. Punctuation marks and, if requested, Chinese
       characters are separate words.
    4. A word is split from its start by repeatedly taking the longest matching piece of the
       vocabulary. Every piece of a word except the first begins with `##`. A word that cannot be
       split in this way, or is too long, becomes a single `[UNK]`.

    The Python implementation and the graph of core operations agree on every text. They agree
    with Hugging Face's `BertTokenizer` on texts whose characters are in its older Unicode tables,
    with two exceptions: `BertTokenizer` does not separate 256 ideographs from U+2B820 onwards, and
    it recognizes `[MASK]` and other special tokens in a text. The graph with tensorflow-text, which
    is used if `split_chinese` is `True` and the tokenizer is called without `core_ops=True`, limits
    words to `max_characters_per_word` bytes instead of characters.

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
        apart = punctuation() + (CHINESE if split_chinese else ())
        self._controls = re.compile(f"[{python_class(controls())}]")
        self._words = re.compile(
            f"[{python_class(apart)}]|[^{python_class(apart)}{python_class(spaces())}]+"
        )
        self._apart = apart
        changed = replacements(lowercase, self.strips_accents)
        self._replacements = {ord(c): new for c, new in changed.items()}
        self._pieces: dict[str, list[str]] = {}  # cache: word -> its pieces

    def tokenize(self, text: str) -> list[str]:
        text = self._controls.sub("", text).translate(self._replacements)
        return [piece for word in self._words.findall(text) for piece in self._cut(word)]

    @functools.cached_property
    def word_rules(  # pyright: ignore[reportIncompatibleMethodOverride]  # computed once
        self,
    ) -> list[tuple[str, str]]:
        apart = set(characters(self._apart))
        # Characters that become separate words when replaced, such as ≠, which becomes =.
        apart |= {chr(c) for c, new in self._replacements.items() if new in apart}
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
        return controls(), as_ranges(c for c, new in self._replacements.items() if not new)

    def _python_steps(self) -> dict[str, Any]:
        return {
            "dropped": self._controls.pattern,
            "replaced": {chr(code): new for code, new in self._replacements.items()},
            "word": self._words.pattern,
            "number": None,
        }

    def is_special(self, token: str) -> bool:
        return token in self.SPECIAL_TOKENS or bool(re.fullmatch(r"\[unused\d+\]", token))

    def make_graph(self, core_ops: bool) -> PieceGraph:
        # Imported here, because it imports TensorFlow.
        from tfreps._src.text.bert.wordpiece_graph import WordPieceGraph

        return WordPieceGraph(self, core_ops)

    def _cut(self, word: str) -> list[str]:
        pieces = self._pieces.get(word)
        if pieces is None:
            pieces = self._longest_first(word)
            if len(self._pieces) < _MOST_WORDS:
                self._pieces[word] = pieces
        return pieces

    def _longest_first(self, word: str) -> list[str]:
        if len(word) > self.max_characters_per_word:
            return [self.unknown]
        pieces = []
        start = 0
        prefix = ""
        while start < len(word):
            for end in range(min(len(word), start + self.longest_piece), start, -1):
                piece = prefix + word[start:end]
                if piece in self._ids:
                    break
            else:
                return [self.unknown]
            pieces.append(piece)
            start = end
            prefix = CONTINUATION
        return pieces


_MOST_WORDS = 1 << 20
