"""Writes data that follow rules, and trains tiny taggers and classifiers on them, for tests.

Tags: a name after `mr` starts a person, a name after `in` starts a place, and a name after another
name continues its span. All other tokens, including other names, are outside, so that the tag does
not follow from the word. With `numbers`, tokens of digits are numbers, and hardly any occurs twice.

Labels: `good` and `bad` occur equally often anywhere in a text; the one after `very` is the label.
"""

import contextlib
import io
import json
import sys

import numpy as np

from tfreps.__main__ import main

NAMES = "Ada Bob Cid Dan Eve Fay".split()
WORDS = "went saw then home now and".split()
OPENERS = {"mr": "PER", "in": "LOC"}
FAST = ["--learning-rate", "0.02", "--batch-tokens", "128", "--dropout", "0.1"]
WORD_TAGGER = ["--learning-rate", "0.01", "--units", "20", "--dropout", "0", "--epochs", "7"]
TAGGER = ["--characters", "cnn", "--set", "max_characters=12", *WORD_TAGGER]
SMALL = ["--encoder", "bilstm", "--units", "12", "--embedding-dim", "8"]


def tag(tokens):
    """Returns the tags of tokens by the rule in the docstring of this module."""
    tags = []
    for before, token in zip(["", *tokens], tokens, strict=False):
        last = tags[-1] if tags else "O"
        if token.isdigit():
            tags.append("B-NUM")
        elif token in NAMES and before in OPENERS:
            tags.append("B-" + OPENERS[before])
        elif token in NAMES and before in NAMES and last != "O":
            tags.append("I" + last[1:])
        else:
            tags.append("O")
    return tags


def sentence(rng, numbers=False):
    tokens = []
    for kind in rng.choice(4, size=rng.integers(1, 9), p=[0.5, 0.25, 0.125, 0.125]):
        if kind == 2 and numbers:
            tokens.append(str(rng.integers(1000, 10000)))
        elif kind == 3 and numbers:
            tokens.append("".join(rng.choice(list("abcdefgh"), 4)))
        else:
            tokens.append(str(rng.choice([NAMES, list(OPENERS), WORDS, WORDS][kind])))
    return tokens


def write_tagged(folder, numbers=False, sizes=(240, 60, 60)):
    """Returns `--train`, `--validation` and `--test` with their files of columns."""
    flags = []
    for seed, (part, size) in enumerate(zip(("train", "validation", "test"), sizes, strict=True)):
        rng = np.random.default_rng(seed)
        sentences = [sentence(rng, numbers) for _ in range(size)]
        flags += [
            f"--{part}",
            write_columns(folder / f"{part}.conll", sentences, map(tag, sentences)),
        ]
    return flags


def write_columns(path, sentences, tags):
    blocks = [
        "".join(f"{token} {name}\n" for token, name in zip(*pair, strict=True))
        for pair in zip(sentences, tags, strict=True)
    ]
    path.write_text("\n".join(blocks), encoding="utf-8")
    return str(path)


def read_columns(text):
    """Returns `(tokens, columns)` of each sentence of a text of columns."""
    blocks = [block.split("\n") for block in text.removesuffix("\n\n").split("\n\n")]
    rows = [[line.split() for line in block] for block in blocks]
    return [([row[0] for row in block], [row[1:] for row in block]) for block in rows]


def spans(tags):
    """Returns `(type, start, end)` of each span of BIO tags."""
    found = []
    for place, name in enumerate(tags):
        if name.startswith("B-"):
            end = place + 1
            while end < len(tags) and tags[end] == "I" + name[1:]:
                end += 1
            found.append((name[2:], place, end))
    return found


def text(rng):
    """Returns a label and a text."""
    label = str(rng.choice(["bad", "good"]))
    words = [*rng.choice(WORDS, rng.integers(2, 5)), "good", "bad"]
    words.remove(label)
    words = [str(word) for word in rng.permutation(words)]
    place = rng.integers(len(words) + 1)
    return label, " ".join([*words[:place], "very", label, *words[place:]])


def write_labeled(folder, sizes=(320, 60, 60)):
    """Returns `--train`, `--validation` and `--test` with their files of `label<TAB>text`."""
    flags = []
    for seed, (part, size) in enumerate(zip(("train", "validation", "test"), sizes, strict=True)):
        rng = np.random.default_rng(seed)
        path = folder / f"{part}.tsv"
        path.write_text("".join("\t".join(text(rng)) + "\n" for _ in range(size)))
        flags += [f"--{part}", str(path)]
    return flags


def train_tagger(files, run, *more, sizes=SMALL):
    more = [*map(str, more), "--run", str(run)]
    scheme = [] if "--scheme" in more else ["--scheme", "bio"]
    assert main(["train-tagger", *files, *scheme, "--config", "none", *sizes, *FAST, *more]) == 0
    return run


def train_classifier(files, run, *more, sizes=SMALL):
    assert (
        main(["train-classifier", *files, *sizes, *FAST, *map(str, more), "--run", str(run)]) == 0
    )
    return run


def results(run):
    return json.loads((run / "results.json").read_text())


def history(run):
    return [json.loads(x) for x in (run / "logs" / "history.jsonl").read_text().splitlines()]


def ask(*arguments, stdin=b""):
    """Runs a command with bytes as standard input; returns its standard output."""
    output, before = io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with contextlib.redirect_stdout(output):
            assert main([*map(str, arguments)]) == 0
    finally:
        sys.stdin = before
    return output.getvalue()


def refused(capsys, program, *arguments):
    """Runs a command that must fail with exit code 2; returns its error message, one line."""
    capsys.readouterr()
    assert main([program, *map(str, arguments)]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"tfreps {program}: error: ") and err.count("\n") == 1, err
    return err
