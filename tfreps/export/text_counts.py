"""write_counts: how an export cuts texts, for servers that limit the tokens of a request."""

import json
import pathlib
import textwrap

PLACE = "assets.extra/tfreps_counts.json"
ATTENDED = 1024  # tokens of a text up to which attention costs less than all the rest, about
UNITS = {
    "spaces": "every run of characters between white space",
    "words": "every run of letters, digits and underscores, and every other character but white "
    "space",
    "bert_words": "every run of letters, digits and underscores, every CJK character, and every "
    "other character but white space",
    "characters": "every character but white space",
}


def write_counts(folder, counts):
    """Writes `assets.extra/tfreps_counts.json` into a version.

    Args:
        folder: of the version.
        counts: dict with `tokens`, a key of `UNITS`; `most_per_text`, int or None: the token after
            which the model cuts a text; `added_per_text`, int: tokens that the model adds to each;
            and `attends`, bool: whether each token of a text reads all others, so that the
            cost of a long text grows with the square of its tokens.
    """
    path = pathlib.Path(folder) / PLACE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(counts) + "\n", encoding="utf-8")


def about_cost(counts) -> str:
    """What the README of an export says of the cost of a request.

    Example:
    >>> counts = {"tokens": "words", "most_per_text": 512, "added_per_text": 2, "attends": False}
    >>> print(about_cost(counts))
    The time and memory of a request grow with its tokens after padding: texts x tokens of the...
    """
    cut = ""
    if counts["most_per_text"] is not None:
        cut = f", of which a text has {counts['most_per_text']:,} at most: the rest is cut"
    added = squares = ""
    if counts["added_per_text"]:
        added = f"; the model adds {counts['added_per_text']} to each text"
    if counts["attends"]:
        squares = (
            f" A text of t tokens, above {ATTENDED:,}, counts as t * t / {ATTENDED:,}, since each "
            "of its tokens attends to all others."
        )
    text = (
        "The time and memory of a request grow with its tokens after padding: texts x tokens of "
        "the longest. An empty text counts as one token. Each of these is a token: "
        f"{UNITS[counts['tokens']]}{added}{cut}.{squares} `tfreps serve` rejects requests beyond "
        "`--max-tokens` and `--max-text-tokens`. TensorFlow Serving has no such limit, so limit "
        "requests before they reach it."
    )
    return textwrap.fill(text, 100)
