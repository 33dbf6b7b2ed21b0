"""Times the library tokenizers for benchmarks/bert.py in an environment of its own.

    .venv-peers/torch/bin/python -m benchmarks.peer_tokenizers FILE.json

The file, which benchmarks/bert.py writes, contains the vocabulary of WordPieces and the texts,
which one thread splits in batches of 64. Each line of standard input gives the number of calls to
time, for which the program prints a JSON list of the times in seconds. Before it reads the first
line, it prints `"ready"`.
"""

import json
import os
import pathlib
import sys

from benchmarks.peer_loop import answer


def main(argv=None):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    answer(prepare(*(sys.argv[1:] if argv is None else argv)))
    return 0


def prepare(path):
    """Returns a function that splits all texts of a file."""
    from tokenizers import BertWordPieceTokenizer

    problem = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    vocabulary = {piece: number for number, piece in enumerate(problem["vocabulary"])}
    tokenizer = BertWordPieceTokenizer(vocabulary, lowercase=True)
    batches = [problem["texts"][n : n + 64] for n in range(0, len(problem["texts"]), 64)]

    def split():
        return [
            len(found.ids)
            for batch in batches
            for found in tokenizer.encode_batch(batch, add_special_tokens=False)
        ]

    return split


if __name__ == "__main__":
    raise SystemExit(main())
