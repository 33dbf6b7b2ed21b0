"""Runs `tfreps pretrain-elmo` for tests, with a tiny model, a small corpus and few steps."""

import json

from tests.conftest import CORPUS
from tfreps.__main__ import main

SIZES = ["--filters", "[[1,8],[2,8]]", "--num-highways", "1", "--units", "16"]
SIZES += ["--projection-dim", "4"]
BATCHES = ["--batch-size", "4", "--unroll-steps", "5"]


def write_corpus(folder):
    """Writes the corpus of `tests/conftest.py` and its vocabulary."""
    folder.mkdir(exist_ok=True)
    for name, text in CORPUS.items():
        (folder / name).write_text(text.lstrip(), encoding="utf-8")
    train, vocabulary = str(folder / "train*.txt"), str(folder / "vocabulary.txt")
    assert main(["build-vocabulary", train, "--output", vocabulary]) == 0
    return folder


def flags(corpus, run, *more, steps=6, validation=True, sizes=SIZES, vocabulary=True):
    """Returns the options of `tfreps pretrain-elmo` for a corpus and a run folder."""
    result = ["pretrain-elmo", "--train", str(corpus / "train*.txt"), "--run", str(run)]
    if vocabulary:
        result += ["--vocabulary", str(corpus / "vocabulary.txt")]
    if validation:
        result += ["--validation", str(corpus / "heldout.txt")]
    if "--num-sampled" not in more:
        result += ["--num-sampled", "16"]
    if "--log-every" not in more:
        result += ["--log-every", "2"]
    return [*result, *sizes, *BATCHES, "--steps", str(steps), *map(str, more)]


def pretrain(corpus, run, *more, **options):
    assert main(flags(corpus, run, *more, **options)) == 0
    return run


def history(run):
    lines = (run / "logs" / "history.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def losses(run):
    """Returns the training perplexities by step."""
    name = "training/sampled_perplexity"
    return {line["step"]: line[name] for line in history(run) if name in line}
