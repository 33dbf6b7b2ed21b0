"""Splits texts in a TensorFlow graph: at white space, or into characters, words or tokens."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, overload

from tfreps._src.files.argument_checks import check_list

if TYPE_CHECKING:
    import tensorflow as tf

Method = Literal["spaces", "characters", "all_characters", "words", "treebank"]

VISIBLE_SPACE = "\u2581"  # the sign ▁, which stands for a white-space character

# RE2 class that contains the white space at which str.split splits, but tf.strings.split does not:
# all white space except \t, \n, \v, \f and \r. It also contains the space, which does no harm.
_OTHER_WHITE_SPACE = r"[\p{Z}\x{85}\x1c-\x1f]"

# Part of an RE2 character class that contains all characters for which str.isspace is true.
_WHITE_SPACE = r"\s\v\p{Z}\x{85}\x1c-\x1f"

# "words" follows the rules WB3c, WB4, WB15 and WB16 of Unicode's standard 29. These characters
# belong to the token before them: marks, format characters such as the soft hyphen, the joiners
# U+200C and U+200D, variation selectors, tags and skin tones.
_ATTACHED = (
    r"\pM\x{ad}\x{61c}\x{180e}\x{200c}-\x{200f}\x{202a}-\x{202e}\x{2060}-\x{206f}\x{feff}"
    r"\x{fff9}-\x{fffb}\x{13430}-\x{1343f}\x{1bca0}-\x{1bca3}\x{1d173}-\x{1d17a}\x{e0001}"
    r"\x{e0020}-\x{e007f}\x{1f3fb}-\x{1f3ff}"
)
# Blocks of Unicode that contain all pictographs, which U+200D joins to the sign before them.
_JOINED = (
    r"\x{a9}\x{ae}\x{203c}\x{2049}\x{2122}\x{2190}-\x{23ff}\x{24c2}\x{25a0}-\x{27bf}"
    r"\x{2900}-\x{297f}\x{2b00}-\x{2bff}\x{3030}\x{303d}\x{3297}\x{3299}\x{1f000}-\x{1f1e5}"
    r"\x{1f200}-\x{1f3fa}\x{1f400}-\x{1faff}\x{1fc00}-\x{1fffd}"
)
_FLAG = r"\x{1f1e6}-\x{1f1ff}"  # regional indicators, two of which form a flag
_SIGN = rf"(?:[{_FLAG}][{_ATTACHED}]*[{_FLAG}]|[^{_WHITE_SPACE}{_ATTACHED}])"
_WORD = "|".join([
    rf"[\pL\pN_][\pL\pN_{_ATTACHED}]*",
    rf"{_SIGN}(?:[{_ATTACHED}]*\x{{200d}}[{_JOINED}])*[{_ATTACHED}]*",
    rf"[{_ATTACHED}]+",  # attached characters without a token before them
])  # fmt: skip

# Brackets and quotation marks that may follow the period of a sentence.
_CLOSING = r"\])}>\"'”’»"

# Separates punctuation as the Penn Treebank does. RE2 has no lookahead, so a pattern that checks
# the next character puts it back.
_TREEBANK = (
    # Separates the period that ends the text, unless the last word is an abbreviation such as U.N.
    # or p.m.
    (
        rf"([^\pL.{_WHITE_SPACE}]|[^.{_WHITE_SPACE}][^.{_WHITE_SPACE}]|(?:^|[{_WHITE_SPACE}])\pL)"
        rf"\.([{_CLOSING}]*[{_WHITE_SPACE}]*)$",
        r"\1 . \2",
    ),
    # Separates a period from the word before it if the next word is capitalized. The word before
    # the period must be a lower-case word of at least three letters or a capitalized word of at
    # least five; shorter words may be abbreviations, such as Mr. or Gov.
    (
        rf"((?:^|[{_WHITE_SPACE}\"'(\[“‘])(?:\p{{Ll}}{{3,}}|\p{{Lu}}\p{{Ll}}{{4,}}))"
        rf"\.([{_CLOSING}]*[{_WHITE_SPACE}]+[\"'(\[“‘]*\p{{Lu}})",
        r"\1 . \2",
    ),
    (r"(\.\.+|--+|[;!?%…—()\[\]{}<>\"“”«»‘£€¥]|\p{Lu}*\$)", r" \1 "),
    # Separates commas and colons, except in 10,000, 10:30 and https://.
    (r"([,:])([^\p{Nd},:/]|$)", r" \1 \2"),
    (rf"([^{_WHITE_SPACE}'’])(['’]+)([{_WHITE_SPACE}]|$)", r"\1 \2\3"),  # dogs' becomes dogs '
    (rf"(^|[{_WHITE_SPACE}])(['’])(\pL\pL\pL)", r"\1\2 \3"),  # 'hello becomes ' hello, not 'll
    (  # this rule turns it's into it 's
        rf"([^{_WHITE_SPACE}'’])(['’](?:[sSmMdD]|ll|LL|re|RE|ve|VE))([{_WHITE_SPACE}]|$)",
        r"\1 \2\3",
    ),
    (rf"(\pL)([nN]['’][tT])([{_WHITE_SPACE}]|$)", r"\1 \2\3"),  # didn't becomes did n't
)

# RE2 patterns and replacements, applied in order; white space then separates the tokens.
_RULES: dict[Method, tuple[tuple[str, str], ...]] = {
    "spaces": (),
    "characters": ((f"[^{_WHITE_SPACE}]", r"\0 "),),
    "all_characters": ((f"[{_WHITE_SPACE}]", VISIBLE_SPACE), (f"[^{_WHITE_SPACE}]", r"\0 ")),
    "words": ((_WORD, r"\0 "),),
    "treebank": _TREEBANK,
}
TOKENIZERS: tuple[Method, ...] = tuple(_RULES)
_TEXTS_AT_A_TIME = 256
_PADDED_CHARACTERS = 1 << 22  # maximum size of a block: number of texts x length of the longest


class WordSplitter(Protocol):
    """Protocol of the tokenizers of BERT, whose `word_rules` split a text into words.

    `PieceTokenizer` describes the attributes.
    """

    @property
    def word_rules(self) -> Sequence[tuple[str, str]]: ...

    @property
    def dropped_characters(self) -> Sequence[Sequence[tuple[int, int]]]: ...


@overload
def tokenize(texts: Sequence[str], method: Method | WordSplitter = "spaces") -> list[list[str]]: ...


@overload
def tokenize(texts: "tf.Tensor", method: Method | WordSplitter = "spaces") -> "tf.Tensor": ...


def tokenize(
    texts: "Sequence[str] | tf.Tensor", method: Method | WordSplitter = "spaces"
) -> "list[list[str]] | tf.Tensor":
    """Splits texts into tokens.

    Supported methods:

    - "spaces": splits at Unicode white space, with the same result as Python's `str.split()`.
    - "characters": every Unicode character except white space is a token.
    - "all_characters": every Unicode character is a token. The token of a white-space character is
      "▁" (U+2581).
    - "words": runs of letters, numerals (Unicode categories L and N) and underscores are tokens,
      and so is every other character except white space. `don't!` becomes `don ' t !`. Marks,
      joiners, soft hyphens, variation selectors and other format characters belong to the character
      before them; a flag, or emoji that U+200D joins, are one token (Unicode's standard 29).
    - "treebank": separates punctuation and contractions from words, as the Penn Treebank and
      CoNLL-2003 do: `U.N.`, `3.50` and `O'Neill` are tokens, and `didn't` becomes `did n't`. Suits
      texts of one sentence: within a text, the period of a capitalized word with fewer than five
      letters stays attached to it, as in `Mr. Smith`. Quotation marks do not change, and `cannot`
      is one token.
    - a BERT tokenizer: splits texts into words, as its `word_rules` define them, not into pieces.
      Texts for a `JsonTokenizer`, which Python applies, must be a list.

    The function uses only core TensorFlow operations, so that an exported model splits texts in
    the same way as in training. Letters, numerals and marks are those of Unicode 15. Bytes
    that are not UTF-8 are not removed; they stay attached to the text that follows.

    Args:
        texts: list of str, or str tensor of shape `[N]`, UTF-8.
        method: str or tokenizer. `"spaces"`, `"characters"`, `"all_characters"`, `"words"`,
            `"treebank"`, a `WordPieceTokenizer` or a `CharacterTokenizer`. Defaults to `"spaces"`.

    Returns:
        For a list, a list of lists of str: the tokens of each text. For a tensor, a str tensor of
        shape `[N, T]`, where T is the largest number of tokens in a text.

    Masking: the rows of a tensor are padded on the right with `""`, which is never a token.

    Raises:
        ValueError: If `method` is not supported, or `texts` is neither a tensor nor a
            list of strings.

    Example:
        >>> import tensorflow as tf
        >>> from tfreps.text import tokenize
        >>> tokenize(["It's 5.", ""], "words")
        [['It', "'", 's', '5', '.'], []]
        >>> tokenize(["The U.N. didn't pay $3.50."], "treebank")
        [['The', 'U.N.', 'did', "n't", 'pay', '$', '3.50', '.']]
        >>> tokenize(tf.constant(["It's 5.", "ok"])).numpy().tolist()
        [[b"It's", b'5.'], [b'ok', b'']]
    """
    import tensorflow as tf  # imported here to keep `import tfreps.text` fast

    check_method(method)
    if not tf.is_tensor(texts):
        check_list("`texts`", texts)
        return _token_lists(list(texts), method)  # pyright: ignore[reportArgumentType]
    for pattern, new in rules_of(method):
        texts = tf.strings.regex_replace(texts, pattern, new)
    return split_tokens(texts)  # pyright: ignore[reportArgumentType]  # [N, T]


def rules_of(method: Method | WordSplitter) -> Sequence[tuple[str, str]]:
    """Returns the pairs `(RE2 pattern, replacement)` that put white space between tokens."""
    return _RULES[method] if isinstance(method, str) else method.word_rules


def split_tokens(sentences: "tf.Tensor") -> "tf.Tensor":
    """Splits texts `[N]` at Unicode white space; returns tokens `[N, T]`, padded with `""`."""
    import tensorflow as tf

    plain = tf.strings.regex_replace(sentences, _OTHER_WHITE_SPACE, " ")
    return tf.strings.split(plain).to_tensor("")  # [N, T]


def _token_lists(texts: list[str], method: Method | WordSplitter) -> list[list[str]]:
    import tensorflow as tf

    if word_offsets := getattr(method, "word_offsets", None):  # of a tokenizer without a graph
        return words_at(texts, word_offsets(texts))
    tokens = []
    strings: dict[bytes, str] = {}
    for block in blocks(texts):
        tokens += as_lists(tokenize(tf.constant(block), method), strings)
    return tokens


def words_at(texts: Iterable[str], offsets: Iterable[list[tuple[int, int]]]) -> list[list[str]]:
    """Returns the parts of each text with the given `(start, end)`."""
    pairs = zip(texts, offsets, strict=True)
    return [[text[start:end] for start, end in row] for text, row in pairs]


def as_lists(tokens: "tf.Tensor", strings: dict[bytes, str]) -> list[list[str]]:
    """Converts tokens `[N, T]` to lists. Equal tokens share one string, stored in `strings`."""
    import tensorflow as tf

    real = tokens != ""
    flat = iter(tokens[real].numpy().tolist())
    found = []
    for length in tf.math.count_nonzero(real, axis=1).numpy().tolist():
        own = itertools.islice(flat, length)
        found.append([strings.get(t) or strings.setdefault(t, t.decode()) for t in own])
    return found


def blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """Yields lists of consecutive texts, each small enough to tokenize in one call.

    The number of characters of a list, after padding to its longest text, is limited.
    """
    block: list[str] = []
    longest = 0
    for text in texts:
        longest = max(longest, len(text))
        is_full = (len(block) + 1) * longest > _PADDED_CHARACTERS
        if block and (is_full or len(block) == _TEXTS_AT_A_TIME):
            yield block
            block = []
            longest = len(text)
        block.append(text)
    if block:
        yield block


def check_method(method: str | WordSplitter) -> None:
    """Raises a ValueError unless `method` is one of `TOKENIZERS` or has `word_rules`."""
    if (
        method not in TOKENIZERS
        if isinstance(method, str)
        else not hasattr(type(method), "word_rules")
    ):
        raise ValueError(
            f"`method` must be one of {', '.join(map(repr, TOKENIZERS))} or a BERT tokenizer; "
            f"got {method!r}."
        )
