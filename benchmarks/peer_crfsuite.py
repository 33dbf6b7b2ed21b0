"""Trains and applies python-crfsuite for benchmarks/linear_tagger.py, in its own environment.

    .venv-peers/torch/bin/python -m benchmarks.peer_crfsuite FILE.json ITERATIONS

The file contains the training sentences, which are pairs of tokens and tags, and the tokens of the
validation sentences. The program prints the seconds of training and the tags that it predicts, in
JSON.
"""

import json
import pathlib
import sys
import tempfile
import time

OFFSETS = (-2,), (-1,), (0,), (1,), (2,), (-1, 0), (0, 1)


def main(argv=None):
    path, iterations = sys.argv[1:] if argv is None else argv
    print(json.dumps(train(json.loads(pathlib.Path(path).read_text("utf-8")), int(iterations))))
    return 0


def train(problem, iterations):
    import pycrfsuite

    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder, "model"))
        start = time.perf_counter()
        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.set("max_iterations", iterations)
        for tokens, tags in problem["train"]:
            trainer.append(features(tokens), tags)
        trainer.train(path)
        seconds = time.perf_counter() - start
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        tags = [tagger.tag(features(tokens)) for tokens in problem["validation"]]
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


if __name__ == "__main__":
    raise SystemExit(main())
