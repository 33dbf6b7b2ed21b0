"""is_unspaced: recognizes texts in scripts that put no spaces between words."""

import logging
import re
from collections.abc import Iterable

# Letters of Thai, Lao, Burmese, Khmer, Japanese and Chinese.
_LETTERS = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_RUN = re.compile(f"[{_LETTERS}]+")
LEAST_LENGTH = 4  # smallest mean length of runs of letters; words are shorter, and clauses longer
MOST = 100_000  # maximum number of characters that are read


def is_unspaced(texts: Iterable[str]) -> bool:
    """Returns True if most letters of the texts belong to scripts without spaces between words.

    Texts whose words are already separated by spaces are not meant: their runs of such letters are
    short.

    Example:
        >>> from tfreps._src.text.unspaced import is_unspaced
        >>> is_unspaced(["房间很大，但是没有热水。"]), is_unspaced(["房间 很 大 ，", "the room"])
        (True, False)
    """
    letters = others = runs = read = 0
    for text in texts:
        found = _RUN.findall(text)
        own = sum(map(len, found))
        letters, runs = letters + own, runs + len(found)
        others += sum(map(str.isalpha, text)) - own
        read += len(text)
        if read > MOST:
            break
    return letters > max(0, others) and letters >= LEAST_LENGTH * runs


def warn_of_clauses(texts: Iterable[str], method: object, source: object) -> None:
    """Logs a warning if `method`, which splits at white space, makes tokens of whole clauses."""
    if method in ("spaces", "words", "treebank") and is_unspaced(texts):
        logging.getLogger(__name__).warning(
            "The texts are in a script without spaces between words, but %s splits them at white "
            "space and punctuation, so that its tokens are whole clauses. Pass lists of tokens, or "
            "texts with spaces between words.",
            source or "the model",
        )
