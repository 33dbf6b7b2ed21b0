"""write_counts: stores how an export tokenizes texts, for servers that limit requests."""

import json
import pathlib
import textwrap

PLACE = "assets.extra/tfreps_counts.json"
ATTENDED = 1024  # up to about this many tokens, attention costs less than the rest of the model
UNITS = {
    "spaces": "every run of characters between white space",
    "words": "every run of letters, digits, combining marks and underscores, and every other "
    "character except white space",
    "bert_words": "every run of letters, digits and combining marks, every CJK character, and "
    "every other character except white space",
    "characters": "every character except white space",
}


def write_counts(folder, counts):
    """Writes `assets.extra/tfreps_counts.json` into the folder of a version.

    Args:
        folder: str or path-like. Folder of the version.
        counts: dict with four keys. `tokens` is a key of `UNITS`. `most_per_text` is the number of
            tokens, including added ones, to which the model truncates a text. It is `None` if the
            model does not truncate texts, or if it splits the whole text into pieces first, as a
            tagger on a BERT model does. `added_per_text` is the number of tokens that the model
            adds to each text. `attends` is `True` if each token of a text attends to all others, so
            that the cost of a long text grows with the square of its number of tokens. It is
            `False` for models whose truncated texts are too short for this to matter; see
            `is_long`.
    """
    path = pathlib.Path(folder) / PLACE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(counts) + "\n", encoding="utf-8")


def is_long(max_length) -> bool:
    """Returns True if texts of up to `max_length` tokens are long enough for attention to matter.

    Args:
        max_length: int or None. Number of tokens to which the model truncates a text. If `None`,
            it does not truncate texts.
    """
    return max_length is None or max_length > ATTENDED


def about_cost(counts) -> str:
    """Returns the paragraph about the cost of a request for the README of an export.

    Args:
        counts: dict. Description of the tokenization, as passed to `write_counts`.

    Example:
    >>> counts = {"tokens": "words", "most_per_text": 512, "added_per_text": 2, "attends": False}
    >>> print(about_cost(counts))
    The time and memory that a request needs grow with its number of tokens after padding, ...
    """
    cut = ""
    if counts["most_per_text"] is not None:
        cut = f"; texts are truncated to {counts['most_per_text']:,} tokens"
    added = squares = ""
    if counts["added_per_text"]:
        added = f"; the model adds {counts['added_per_text']} tokens to each text"
    if counts["attends"]:
        squares = (
            f" A text of t > {ATTENDED:,} tokens counts as t * t / {ATTENDED:,} tokens, since each "
            "token attends to all others."
        )
    text = (
        "The time and memory that a request needs grow with its number of tokens after padding, "
        "which is the number of texts times the number of tokens in the longest text. An empty "
        "text counts as one token. These count as tokens: "
        f"{UNITS[counts['tokens']]}{added}{cut}.{squares} `tfreps serve` rejects requests beyond "
        "`--max-tokens` and `--max-text-tokens`. TensorFlow Serving has no such limit, so limit "
        "requests before they reach it."
    )
    return textwrap.fill(text, 100)
