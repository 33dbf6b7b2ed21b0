"""Converts the RE2 rules by which TensorFlow splits texts to rules for Python's `re`."""

import collections
import functools
import itertools
import re
import sys
import unicodedata
from collections.abc import Sequence

from tfreps._src.text.code_ranges import Ranges, as_ranges

# Parts of a pattern that Python's `re` reads differently, and brackets, which enclose a class.
_PARTS = re.compile(r"\\p(?:\{(\w+)\}|(\w))|\\x\{([0-9a-f]+)\}|\\.|[\[\]$]|.", re.DOTALL)
# The ASCII characters that these escapes match in RE2.
_ESCAPES = {r"\s": r"\t\n\f\r ", r"\v": r"\x0b"}


def python_rules(rules: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    r"""Converts `(pattern, replacement)` pairs from the syntax of RE2 to that of Python's `re`.

    In a replacement of RE2, `\0` is the whole match.
    """
    return [(python_pattern(pattern), new.replace(r"\0", r"\g<0>")) for pattern, new in rules]


def python_pattern(pattern: str) -> str:
    r"""Converts a regular expression from the syntax of RE2 to that of Python's `re`.

    Unicode categories are replaced with ranges of code points, according to the Unicode version of
    the running Python.

    Example:
        >>> from tfreps._src.text.python_rules import python_pattern
        >>> python_pattern(r"[^\s\x{85}]$")
        '[^\\t\\n\\f\\r \\x85]\\Z'
    """
    found = []
    in_class = False
    for part in _PARTS.finditer(pattern):
        text = part.group()
        if text in "[]":
            in_class = text == "["
        category = part.group(1) or part.group(2)
        if category:
            ranges = _python_class(_of_category(category))
            text = ranges if in_class else f"[{ranges}]"
        elif part.group(3):
            text = _escaped(int(part.group(3), 16))
        elif text in _ESCAPES:
            text = _ESCAPES[text] if in_class else f"[{_ESCAPES[text]}]"
        elif text == "$" and not in_class:
            text = r"\Z"
        found.append(text)
    return "".join(found)


@functools.cache
def _of_category(prefix: str) -> Ranges:
    """Returns the ranges of code points whose Unicode category begins with `prefix`."""
    found = (codes for category, codes in _by_category().items() if category.startswith(prefix))
    return as_ranges(sorted(itertools.chain.from_iterable(found)))


@functools.cache
def _by_category() -> dict[str, list[int]]:
    """Returns a dict from Unicode categories to lists of their code points, in ascending order."""
    found: dict[str, list[int]] = collections.defaultdict(list)
    for code in range(sys.maxunicode + 1):
        found[unicodedata.category(chr(code))].append(code)
    return found


def _python_class(ranges):
    return "".join(
        _escaped(first) if first == last else f"{_escaped(first)}-{_escaped(last)}"
        for first, last in ranges
    )


def _escaped(code):
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
