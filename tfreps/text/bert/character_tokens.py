"""CharacterTokenizer: splits text into characters, whole Latin words and one token for numbers."""

import functools
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from tfreps.files.atomic_files import write_text
from tfreps.files.json_files import read_json
from tfreps.text.bert.character_classes import (
    NUMBER,
    NUMBER_PATTERN,
    WORD_PATTERN,
    python_class,
    re2_class,
    replacements,
    token_pattern,
    white_space,
)
from tfreps.text.bert.piece_tokenizer import NONE, PieceTokenizer
from tfreps.text.vocabulary import check_left

UNUSED = "#UNUSED[0-9]+#"
FIRST_ID = 20  # what is before and not special is reserved
LAST_ID = 2**20 - 1  # of a dictionary: every id below the largest takes memory


class CharacterTokenizer(PieceTokenizer):
    """Splits text into characters, but keeps Latin words whole and treats all numbers alike.

    A number is a run of the digits 0 to 9, or two with a point between: `3.5`, but not `1,000`,
    which is two. A Latin word is a run of the letters a to z; in aespresso's dictionary an
    accent ends it. White space separates, and is no token itself unless asked for.

    Ids are those of aespresso: 0 `#PAD#`, 1 `#UNK#`, 2 `#CLS#`, 3 `#SEP#`, 4 `#MASK#`, 5
    `#NUM#`, 6 to 19 reserved, characters and words from 20 on. The Python path and the graph,
    which is made of core TensorFlow operations, agree on every text.

    Args:
        vocabulary: list of str, the tokens in the order of their ids, the six special ones
            among them. `from_texts` builds one, `from_dictionary` reads one.
        lowercase: bool. Whether text becomes lower case, each character for itself.
        numbers: bool. Whether a number is `#NUM#`; else its digits and points are tokens.
        whole_words: bool. Whether Latin words are kept whole; else their letters are tokens.
        keep_white_space: bool. Whether each character of white space is a token.
        max_length: int or None. The most ids of a text that models get to see, special ones
            included.
        source: str. How errors call the vocabulary.

    Raises:
        ValueError: what `PieceTokenizer` refuses.

    Reference: aespresso/a_journey_into_math_of_ml, part 04, whose article describes numbers and
    whole words, and whose released code has neither.

    Example:
        >>> from tfreps.text.bert.tokenizer_files import CharacterTokenizer
        >>> tokenizer = CharacterTokenizer.from_texts(["房间 3.5 分", "Wifi 很快"])
        >>> tokenizer.tokenize("WIFI 3 分!")
        ['wifi', '#NUM#', '分', '!']
        >>> tokenizer(["wifi 3 分!"]).to_list()
        [[20, 5, 21, 1]]
    """

    SPECIAL_TOKENS = "#PAD#", "#UNK#", "#CLS#", "#SEP#", "#MASK#", NUMBER
    OPTIONS = {
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
        source: str | os.PathLike = "vocabulary",
    ):
        super().__init__(vocabulary, max_length, source)
        self.lowercase = lowercase
        self.numbers = numbers
        self.whole_words = whole_words
        self.keep_white_space = keep_white_space
        other = "." if keep_white_space else f"[^{python_class(white_space())}]"
        self._tokens = re.compile(token_pattern(self, other), re.DOTALL)
        self._number = re.compile(NUMBER_PATTERN)
        self._replacements = {ord(c): new for c, new in replacements(lowercase, False).items()}

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        min_count: int = 1,
        max_size: int | None = None,
        progress: Callable | None = None,
        **options,
    ) -> "CharacterTokenizer":
        """Builds the vocabulary from texts: tokens by falling count, equal counts by code point.

        Args:
            texts: strings: those of the training text alone.
            min_count: int. Rarer tokens are left out.
            max_size: int or None. Largest size, the 20 special and reserved ids included.
            progress: function of the numbers of tokens and distinct tokens so far, or None.
            **options: of the constructor.

        Raises:
            ValueError: `min_count` below 1, or so high that it leaves no token; a `max_size`
                without room for a token.
        """
        counts = count_tokens(texts, progress, **options)
        return cls.from_counts(counts, min_count, max_size, **options)

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        min_count: int = 1,
        max_size: int | None = None,
        **options,
    ) -> "CharacterTokenizer":
        """Builds the vocabulary from counts of tokens, as `count_tokens` returns them."""
        if min_count < 1:
            raise ValueError(f"`min_count` must be at least 1; got {min_count}.")
        if max_size is not None and max_size <= FIRST_ID:
            raise ValueError(
                f"`max_size` must leave room for tokens next to {FIRST_ID} special and reserved "
                f"ids; got {max_size}."
            )
        head = _placed({}, FIRST_ID)
        kept = [t for t, n in counts.items() if n >= min_count and t not in cls.SPECIAL_TOKENS]
        check_left(kept, counts, min_count, cls.SPECIAL_TOKENS)
        kept.sort(key=lambda token: (-counts[token], token))
        return cls([*head, *kept][:max_size], **options)

    @classmethod
    def from_dictionary(
        cls, path: str | os.PathLike, vocabulary_size: int | None = None, **options
    ) -> "CharacterTokenizer":
        """Reads a dictionary of ids, such as bert_word2idx.json or bert_word2idx_extend.json.

        Args:
            path: JSON file, token -> id. The six special tokens may be missing, as in the second.
            vocabulary_size: int or None. Tokens with ids from this on are unknown: with 32162,
                what aespresso's models have rows for, six of the second.
            **options: of the constructor.

        Raises:
            ValueError: no such JSON; an id that is no integer from 0 to 1,048,575, comes twice, is
                another than the special token's own, or is reserved.
        """
        ids = read_json(path)
        own = {token: place for place, token in enumerate(cls.SPECIAL_TOKENS)}
        first: dict[int, str] = {}
        for token, place in ids.items():
            if type(place) is not int or not 0 <= place <= LAST_ID:
                raise ValueError(
                    f"{path}: the id of {token!r} must be an integer from 0 to {LAST_ID}; "
                    f"got {place!r}."
                )
            if token in own and place != own[token]:
                raise ValueError(f"{path}: {token} must have the id {own[token]}; got {place}.")
            if token not in own and place < FIRST_ID:
                raise ValueError(
                    f"{path}: {token!r} has the id {place}, and those below {FIRST_ID} are for "
                    "special tokens or reserved."
                )
            if first.setdefault(place, token) != token:
                raise ValueError(f"{path}: {first[place]!r} and {token!r} have one id, {place}.")
        size = max([FIRST_ID - 1, *first]) + 1 if vocabulary_size is None else vocabulary_size
        return cls(_placed(first, size), source=str(path), **options)

    def write_dictionary(self, path: str | os.PathLike) -> None:
        """Writes the file that `from_dictionary` reads, whole or not at all."""
        unused = re.compile(UNUSED)
        ids = {t: n for n, t in enumerate(self.vocabulary) if not unused.fullmatch(t)}
        write_text(path, json.dumps(ids, ensure_ascii=False, indent=0) + "\n")

    def tokenize(self, text: str) -> list[str]:
        tokens = self._tokens.findall(text.replace("\0", "").translate(self._replacements))
        if self.numbers:
            tokens = [NUMBER if self._number.fullmatch(token) else token for token in tokens]
        return tokens

    @functools.cached_property
    def word_rules(self) -> list[tuple[str, str]]:
        word = WORD_PATTERN
        if self.lowercase:  # the Kelvin sign becomes a k; İ an i, and a dot that ends the word
            word = "[A-Za-z\u212a]*İ|[A-Za-z\u212a]+"
        token = token_pattern(self, f"[^{re2_class(white_space())}]", word)
        return [(r"\x00", ""), (f"({token})", r" \1 ")]

    def is_special(self, token: str) -> bool:
        return token in self.SPECIAL_TOKENS or bool(re.fullmatch(UNUSED, token))

    def make_graph(self, core_ops: bool):
        from tfreps.text.bert.character_graph import CharacterGraph  # TensorFlow only where needed

        return CharacterGraph(self)


def count_tokens(texts: Iterable[str], progress: Callable | None = None, **options) -> Counter:
    """Counts the tokens of texts, before rare ones become unknown.

    Args:
        texts: strings.
        progress: function of the numbers of tokens and distinct tokens so far, or None.
        **options: of `CharacterTokenizer`.
    """
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
    """The tokens of ids below `size`; special ones where theirs are, names for unused ids."""
    special = dict(enumerate(CharacterTokenizer.SPECIAL_TOKENS))
    return [special.get(n) or tokens.get(n) or f"#UNUSED{n}#" for n in range(size)]
