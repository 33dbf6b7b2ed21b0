"""WordPieceTokenizer: splits words into BERT's pieces, in Python and in a TensorFlow graph."""

import functools
import os
import re

from tfreps.text.bert.character_classes import (
    CHINESE,
    as_ranges,
    characters,
    controls,
    punctuation,
    python_class,
    re2_class,
    replacements,
    spaces,
)
from tfreps.text.bert.piece_tokenizer import NONE, PieceTokenizer

CONTINUATION = "##"


class WordPieceTokenizer(PieceTokenizer):
    """Splits texts into words, and words into the longest pieces of a vocabulary.

    1. Control, format and private characters are dropped.
    2. Accents and case, as asked for.
    3. Words end at white space; a punctuation mark and, if asked for, a Chinese character is a
       word of its own.
    4. From the start of a word the longest piece of the vocabulary is taken, again and again;
       pieces inside a word begin with `##`. A word that cannot be cut so, or is too long, is
       `[UNK]` as a whole.

    The Python path and the graph of core operations agree on every text, and with Hugging Face's
    `BertTokenizer` on all whose characters its older Unicode tables know, but for 256 ideographs
    from U+2B820 that it leaves together, and for `[MASK]` and such in a text, which are no
    special tokens here. The graph with tensorflow-text (a call without `core_ops`) takes words of
    more than `max_characters_per_word` bytes, not characters, for too long.

    Args:
        vocabulary: list of str, the pieces in the order of their ids; `[PAD]`, `[UNK]`,
            `[CLS]`, `[SEP]` and `[MASK]` among them.
        lowercase: bool. Whether text becomes lower case.
        strip_accents: bool, or None for what `lowercase` is. Whether characters lose accents.
        split_chinese: bool. Whether every Chinese character is a word.
        max_characters_per_word: int. Longer words are `[UNK]`: 100 in Hugging Face's, 200 in
            Google's.
        max_length: int or None. The most ids of a text that models get to see, special ones
            included.
        source: str. How errors call the vocabulary.

    Raises:
        ValueError: what `PieceTokenizer` refuses; `max_characters_per_word` below 1.

    Reference: Devlin et al., 2019, "BERT", tokenization.py; transformers, `BertTokenizer`.

    Example:
        >>> from tfreps.text.bert.tokenizer_files import WordPieceTokenizer
        >>> specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        >>> tokenizer = WordPieceTokenizer([*specials, "caf", "##es", "两", "!"])
        >>> tokenizer.tokenize("Cafés 两两!")
        ['caf', '##es', '两', '两', '!']
        >>> tokenizer(["Cafés!", ""], core_ops=True).to_list()
        [[5, 6, 8], []]
        >>> tokenizer.pack(tokenizer.ids("两!"))
        ([2, 7, 8, 3], [0, 0, 0, 0])
    """

    SPECIAL_TOKENS = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
    OPTIONS = {
        "lowercase": (bool,),
        "strip_accents": (bool, NONE),
        "split_chinese": (bool,),
        "max_characters_per_word": (int,),
        "max_length": (int, NONE),
    }

    def __init__(
        self,
        vocabulary,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        split_chinese: bool = True,
        max_characters_per_word: int = 100,
        max_length: int | None = None,
        source: str | os.PathLike = "vocabulary",
    ):
        super().__init__(vocabulary, max_length, source)
        self.lowercase = lowercase
        self.strip_accents = strip_accents
        self.split_chinese = split_chinese
        self.max_characters_per_word = max_characters_per_word
        if max_characters_per_word < 1:
            raise ValueError(
                f"`max_characters_per_word` must be at least 1; got {max_characters_per_word}."
            )
        self.strips_accents = lowercase if strip_accents is None else strip_accents
        self.longest_piece = max(len(p.removeprefix(CONTINUATION)) for p in self.vocabulary)
        apart = punctuation() + (CHINESE if split_chinese else ())
        self._controls = re.compile(f"[{python_class(controls())}]")
        self._words = re.compile(
            f"[{python_class(apart)}]|[^{python_class(apart)}{python_class(spaces())}]+"
        )
        self._apart = apart
        changed = replacements(lowercase, self.strips_accents)
        self._replacements = {ord(c): new for c, new in changed.items()}
        self._pieces: dict[str, list[str]] = {}  # of words seen before

    def tokenize(self, text: str) -> list[str]:
        text = self._controls.sub("", text).translate(self._replacements)
        return [piece for word in self._words.findall(text) for piece in self._cut(word)]

    @functools.cached_property
    def word_rules(self) -> list[tuple[str, str]]:
        gone = [c for c, new in self._replacements.items() if not new]  # accents
        apart = set(characters(self._apart))
        apart |= {chr(c) for c, new in self._replacements.items() if new in apart}  # as ≠ is =
        rules = [
            (f"[{re2_class(controls())}]", ""),
            (f"([{re2_class(as_ranges(sorted(map(ord, apart))))}])", r" \1 "),
        ]
        if gone:  # where nothing is left of a word
            rules.append((rf"(^|[{re2_class(spaces())}])[{re2_class(as_ranges(gone))}]+", r"\1"))
        return rules

    def is_special(self, token: str) -> bool:
        return token in self.SPECIAL_TOKENS or bool(re.fullmatch(r"\[unused\d+\]", token))

    def make_graph(self, core_ops: bool):
        from tfreps.text.bert.wordpiece_graph import WordPieceGraph  # TensorFlow only where needed

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
