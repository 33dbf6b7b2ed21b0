"""Reads the help topics of Python, whose tokens repeat as in other text, for benchmarks.

This module imports only the standard library, since a peer has its own environment.
"""

import collections
import itertools
import re
import resource
from pydoc_data.topics import topics

TOPICS = [text for _, text in sorted(topics.items())]


def lines():
    """Returns the lines of all topics that are not blank."""
    return [line for text in TOPICS for line in text.splitlines() if line.strip()]


def tokens():
    """Returns the words and punctuation of all topics."""
    return re.findall(r"\w+|[^\w\s]", " ".join(TOPICS))


def pieces(size, special_tokens):
    """Returns a WordPiece vocabulary: all characters, and the most frequent words."""
    words = collections.Counter(word for line in lines() for word in line.lower().split())
    characters = sorted({c for word in words for c in word})
    found = [*special_tokens, *characters, *(f"##{c}" for c in characters)]
    return list(dict.fromkeys([*found, *(word for word, _ in words.most_common(size))]))[:size]


def write_lines(path, megabytes, documents=False):
    """Writes the lines repeatedly, until the file is large enough; returns its path.

    With `documents`, a blank line follows each topic.
    """
    end = "\n\n" if documents else "\n"
    text = "".join("\n".join(filter(str.strip, text.splitlines())) + end for text in TOPICS)
    copies = -(-int(megabytes * 1e6) // len(text.encode()))
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(itertools.repeat(text, copies))
    return path


def peak_megabytes():
    """Returns the peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def batches_of_tokens(sentences, length, number):
    """Returns `number` batches of sentences, which are lists of `length` tokens."""
    words = tokens()
    starts = [row * length % (len(words) - length) for row in range(number * sentences)]
    rows = [words[start : start + length] for start in starts]
    return [rows[i : i + sentences] for i in range(0, len(rows), sentences)]
