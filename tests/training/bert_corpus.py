"""Runs `tfreps pretrain-bert` for tests, with a tiny model, small documents and few steps."""

import json

import numpy as np

from tfreps.__main__ import main

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [*"abcdefgh", "##x", "##y", "##z"]
SIZES = ["--size", "bert_nano", "--hidden-dim", "8", "--num-layers", "1", "--dropout", "0.2"]
SIZES += ["--max-sequence-length", "32", "--max-length", "24"]


def write_documents(folder):
    """Writes train.txt and validation.txt, documents of a few sentences, and vocab.txt."""
    rng = np.random.default_rng(0)
    for name, count in ("train.txt", 40), ("validation.txt", 10):
        documents = []
        for _ in range(count):
            letters = rng.choice(list("abcdefgh"), 3)  # the topic of the document
            sentences = [
                " ".join(rng.choice(letters, n)) + str(rng.choice(["x", "yz", ""]))
                for n in rng.integers(2, 8, rng.integers(2, 6))
            ]
            documents.append("\n".join(sentences))
        (folder / name).write_text("\n\n".join(documents) + "\n", encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL, *PIECES]) + "\n", encoding="utf-8")
    return folder


def files(folder):
    """Returns the options --train, --validation, --tokens wordpiece and --vocabulary."""
    names = {"--train": "train.txt", "--validation": "validation.txt", "--vocabulary": "vocab.txt"}
    flags = [part for flag, name in names.items() for part in (flag, str(folder / name))]
    return [*flags, "--tokens", "wordpiece"]


def pretrain(line, run, *more):
    assert main(["pretrain-bert", *line, *SIZES, "--run", str(run), *map(str, more)]) == 0
    return run


def history(run):
    """Returns the lines of history.jsonl without values that depend on the machine's speed."""
    lines = (run / "logs" / "history.jsonl").read_text().splitlines()
    lines = [json.loads(line) for line in lines]
    for line in lines:
        line.pop("training/tokens_per_second", None)
    return lines
