"""Trains and applies python-crfsuite for benchmarks/linear_tagger.py."""

import pathlib
import tempfile
import time

OFFSETS = (-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1)


def train_and_tag(train, validation, iterations):
    """Trains on pairs of tokens and tags; returns the seconds and the tags of other sentences."""
    import pycrfsuite

    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder, "model"))
        start = time.perf_counter()
        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.set("max_iterations", iterations)
        for tokens, tags in train:
            trainer.append(features(tokens), tags)
        trainer.train(path)
        seconds = time.perf_counter() - start
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        tags = [tagger.tag(features(tokens)) for tokens in validation]
        return {"seconds": seconds, "tags": tags}


def features(tokens):
    """Returns the names of the features of each token, such as `-1=The`."""
    padded = ["<s>", "<s>", *tokens, "</s>", "</s>"]
    found = []
    for place in range(2, len(tokens) + 2):
        found.append(
            [
                f"{','.join(map(str, offsets))}={'|'.join(padded[place + o] for o in offsets)}"
                for offsets in OFFSETS
            ]
        )
    return found
