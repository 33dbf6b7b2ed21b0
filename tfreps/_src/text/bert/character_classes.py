"""Character classes of BERT's tokenizers: dropped, separated and replaced characters."""

import functools

from tfreps._src.text.code_ranges import Ranges, as_ranges

# Chinese characters as defined by the package `tokenizers`: ideographs without kana, hangul or
# punctuation. Google's tokenizer also includes the 256 ideographs from U+2B820 onwards.
CHINESE: Ranges = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_PRIVATE_USE = ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD))
# No other code points have an accent or another case, are punctuation marks, or are dropped.
_CHECKED = (*range(0xD800), *range(0xF900, 0x20000), *range(0x2F800, 0x2FA20))
_CHECKED = (*_CHECKED, *range(0xE0000, 0xE0200))
_BETWEEN = "\U00020000"  # ideograph that stays unchanged and separates the checked characters
# Tokens of CharacterTokenizer that represent several characters.
NUMBER = "#NUM#"
NUMBER_PATTERN = r"[0-9]+(?:\.[0-9]+)?"
WORD_PATTERN = "[A-Za-z]+"


@functools.cache
def controls() -> Ranges:
    """Returns the ranges of the control, format and private-use characters and of U+FFFD."""
    found = _normalized(clean_text=True)
    return (*as_ranges(ord(c) for c, new in found.items() if not new), *_PRIVATE_USE)


@functools.cache
def spaces() -> Ranges:
    """Returns the ranges of BERT's white space: Unicode category Z, tab, LF and CR."""
    found = _normalized(clean_text=True)
    return as_ranges(ord(c) for c, new in found.items() if new == " ")


@functools.cache
def white_space() -> Ranges:
    """Returns the ranges of the characters for which `str.isspace` returns `True`."""
    return as_ranges(c for c in _CHECKED if chr(c).isspace())


@functools.cache
def punctuation() -> Ranges:
    """Returns the ranges of BERT's punctuation marks: Unicode category P and ASCII symbols."""
    from tokenizers.pre_tokenizers import BertPreTokenizer

    words = BertPreTokenizer().pre_tokenize_str(_joined())  # punctuation marks are words
    return as_ranges(ord(word) for word, _ in words if len(word) == 1 and word != _BETWEEN)


@functools.cache
def replacements(lowercase: bool, strip_accents: bool) -> dict[str, str]:
    """Returns a dict from characters to their replacements; unchanged characters are absent.

    If `strip_accents` is `True`, a character is decomposed (NFD) and its non-spacing marks are
    removed. If `lowercase` is `True`, each character is then lowercased separately, so that a
    capital sigma becomes `σ` even at the end of a word.
    """
    found = _normalized(lowercase=lowercase, strip_accents=strip_accents)
    return {c: new for c, new in found.items() if new != c}


def _normalized(clean_text=False, strip_accents=False, lowercase=False) -> dict[str, str]:
    """Returns a dict from the checked characters to what `BertNormalizer` makes of them."""
    from tokenizers.normalizers import BertNormalizer

    normalizer = BertNormalizer(clean_text, False, strip_accents, lowercase)
    _, *found, _ = normalizer.normalize_str(_joined()).split(_BETWEEN)
    return dict(zip(map(chr, _CHECKED), found, strict=True))


def _joined() -> str:
    return "".join(_BETWEEN + chr(code) for code in _CHECKED) + _BETWEEN


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
