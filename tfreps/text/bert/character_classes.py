"""Classes of characters of BERT's tokenizers: what they drop, set apart, replace or join."""

import functools
import unicodedata
from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]

# What Google's tokenizer takes for Chinese: ideographs, and no kana, hangul or punctuation.
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
# Beyond these no character has an accent, another case, or belongs to a small category.
_LIVELY = (*range(0x20000), *range(0x2F800, 0x2FA20), *range(0xE0000, 0xE0200))
_LINE_ENDS = "\t\n\r"
# Tokens of several characters in a CharacterTokenizer.
NUMBER = "#NUM#"
NUMBER_PATTERN = r"[0-9]+(?:\.[0-9]+)?"
WORD_PATTERN = "[A-Za-z]+"


@functools.cache
def controls() -> Ranges:
    """Characters to drop: control, format and private ones, U+FFFD; not tab, LF and CR."""
    found = [c for c in _LIVELY if _category(c) in ("Cc", "Cf") and chr(c) not in _LINE_ENDS]
    return (*as_ranges([*found, 0xFFFD]), *_PRIVATE_USE)


@functools.cache
def spaces() -> Ranges:
    """White space as BERT's tokenizer has it: the categories Z, tab, LF and CR."""
    return as_ranges(c for c in _LIVELY if _category(c)[0] == "Z" or chr(c) in _LINE_ENDS)


@functools.cache
def white_space() -> Ranges:
    """White space as `str.isspace` defines it."""
    return as_ranges(c for c in _LIVELY if chr(c).isspace())


@functools.cache
def punctuation() -> Ranges:
    """Characters that are tokens of their own: categories P, and ASCII signs such as `$`."""
    return as_ranges(c for c in _LIVELY if _category(c)[0] == "P" or _is_ascii_sign(c))


@functools.cache
def replacements(lowercase: bool, strip_accents: bool) -> dict[str, str]:
    """Maps single characters to their replacements; characters that stay have no entry.

    Without accents a character is decomposed (NFD) and loses its non-spacing marks. Lower case
    is that of each character alone, so that a sigma is `σ` at the end of a word too.
    """
    found = {}
    for c in map(chr, _LIVELY):
        if 0xD800 <= ord(c) < 0xE000:
            continue
        new = c
        if strip_accents:
            new = "".join(x for x in unicodedata.normalize("NFD", c) if _category(ord(x)) != "Mn")
        if lowercase:
            new = "".join(x.lower() for x in new)
        if new != c:
            found[c] = new
    return found


def token_pattern(tokenizer, other: str, word: str = WORD_PATTERN) -> str:
    """Returns the pattern of a token, for Python and RE2; `other` is any other character."""
    patterns = [NUMBER_PATTERN] if tokenizer.numbers else []
    patterns += [word] if tokenizer.whole_words else []
    return "|".join([*patterns, other])


def characters(ranges: Ranges) -> list[str]:
    """Lists the characters in ranges, in their order."""
    return [chr(code) for first, last in ranges for code in range(first, last + 1)]


def python_class(ranges: Ranges) -> str:
    """Writes ranges as the content of a character class in Python's `re`."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


def re2_class(ranges: Ranges) -> str:
    """Writes ranges as the content of a character class in RE2, which TensorFlow uses."""
    return "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in ranges)


def _category(code: int) -> str:
    return unicodedata.category(chr(code))


def _is_ascii_sign(code: int) -> bool:
    return 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96 or 123 <= code <= 126


def as_ranges(codes: Iterable[int]) -> Ranges:
    """Groups ascending code points into runs, each given by its first and last one."""
    runs: list[list[int]] = []
    for code in codes:
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return tuple((first, last) for first, last in runs)
