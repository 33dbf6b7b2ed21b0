"""is_unspaced: recognizes texts in scripts that put no spaces between words."""

import logging
import re
from collections.abc import Iterable

# Letters and vowel signs of Chinese and Japanese, and those of Thai, Lao, Burmese and Khmer, each
# with the smallest mean length of their runs. Words are shorter than that, and clauses are longer.
SCRIPTS = {
    "\u3005-\u3007\u3041-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff": 4,
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff": 12,
}
MOST = 100_000  # maximum number of characters that are read


def is_unspaced(texts: Iterable[str]) -> bool:
    """Returns True if most letters of the texts belong to a script without spaces between words.

    The result is False for texts whose words are already separated by spaces, because their runs of
    such letters are short. It is also False for texts of very short clauses.

    Example:
        >>> from tfreps._src.text.unspaced import is_unspaced
        >>> is_unspaced(["房间很大，但是没有热水。"]), is_unspaced(["房间 很 大 ，", "the room"])
        (True, False)
    """
    read, size = [], 0
    for text in texts:
        read.append(text)
        size += len(text)
        if size > MOST:
            break
    joined = "\n".join(read)
    num_letters = sum(map(str.isalpha, joined))
    for script, least in SCRIPTS.items():
        runs = re.findall(f"[{script}]+", joined)
        letters = sum(sum(map(str.isalpha, run)) for run in runs)
        if 2 * letters > num_letters and sum(map(len, runs)) >= least * len(runs):
            return True
    return False


def warn_of_clauses(texts: Iterable[str], method: object, source: object) -> None:
    """Logs a warning if `method`, which does not split clauses, makes tokens of whole clauses."""
    if method in ("spaces", "words", "treebank") and is_unspaced(texts):
        logging.getLogger(__name__).warning(
            "The texts are in a script without spaces between words, but %s does not split them "
            "into words, so that its tokens are whole clauses. Put spaces between the words first, "
            "for example with a word segmenter, or pass lists of tokens in Python.",
            source or "the model",
        )
