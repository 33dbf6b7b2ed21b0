"""Character classes of BERT's tokenizers: dropped, separated and replaced characters."""

import functools
import unicodedata

from tfreps._src.text.code_ranges import Ranges, as_ranges

# Chinese characters as defined by Google's tokenizer: ideographs without kana, hangul or
# punctuation.
CHINESE: Ranges = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_PRIVATE_USE = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))
# No other code points have an accent, another case, or one of the categories below.
_CHECKED = (*range(0x20000), *range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200))
_LINE_ENDS = "\t\n\r"
# Tokens of CharacterTokenizer that represent several characters.
NUMBER = "#NUM#"
NUMBER_PATTERN = r"[0-9]+(?:\.[0-9]+)?"
WORD_PATTERN = "[A-Za-z]+"


@functools.cache
def controls() -> Ranges:
    """Returns the ranges of the control, format and private-use characters and of U+FFFD."""
    found = [c for c in _CHECKED if _category(c) in ("Cc", "Cf") and chr(c) not in _LINE_ENDS]
    return (*as_ranges([*found, 0xFFFD]), *_PRIVATE_USE)


@functools.cache
def spaces() -> Ranges:
    """Returns the ranges of BERT's white space: Unicode category Z, tab, LF and CR."""
    return as_ranges(c for c in _CHECKED if _category(c)[0] == "Z" or chr(c) in _LINE_ENDS)


@functools.cache
def white_space() -> Ranges:
    """Returns the ranges of the characters for which `str.isspace` returns `True`."""
    return as_ranges(c for c in _CHECKED if chr(c).isspace())


@functools.cache
def punctuation() -> Ranges:
    """Returns the ranges of BERT's punctuation marks: Unicode category P and ASCII symbols."""
    return as_ranges(c for c in _CHECKED if _category(c)[0] == "P" or _is_ascii_sign(c))


@functools.cache
def replacements(lowercase: bool, strip_accents: bool) -> dict[str, str]:
    """Returns a dict from characters to their replacements; unchanged characters are absent.

    If `strip_accents` is `True`, a character is decomposed (NFD) and its non-spacing marks are
    removed. If `lowercase` is `True`, each character is then lowercased separately, so that a
    capital sigma becomes `σ` even at the end of a word.
    """
    found = {}
    for c in map(chr, _CHECKED):
        if 0xD800 <= ord(c) < 0xE000:
            continue
        new = unicodedata.normalize("NFD", c) if strip_accents else c
        if strip_accents:
            new = "".join([x for x in new if unicodedata.category(x) != "Mn"])
        if lowercase:
            new = "".join(map(str.lower, new))
        if new != c:
            found[c] = new
    return found


def token_pattern(numbers: bool, whole_words: bool, other: str, word: str = WORD_PATTERN) -> str:
    """Returns a regular expression that matches one token of a `CharacterTokenizer`.

    The tokens are numbers if `numbers` is `True`, Latin words (`word`) if `whole_words` is `True`,
    and single characters that match `other`.
    """
    patterns = [NUMBER_PATTERN] if numbers else []
    patterns += [word] if whole_words else []
    return "|".join([*patterns, other])


def characters(ranges: Ranges) -> list[str]:
    """Returns a list of all characters in the given ranges, in order."""
    return [chr(code) for first, last in ranges for code in range(first, last + 1)]


def python_class(ranges: Ranges) -> str:
    """Returns ranges as the content of a character class in Python's `re`."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


def re2_class(ranges: Ranges) -> str:
    """Returns ranges as the content of a character class in RE2, which TensorFlow uses."""
    return "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in ranges)


def _category(code: int) -> str:
    return unicodedata.category(chr(code))


def _is_ascii_sign(code: int) -> bool:
    return 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126
