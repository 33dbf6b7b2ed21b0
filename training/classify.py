"""Classifies raw texts: the likeliest label and its probability for every line.

    echo "a fine hotel" | tfreps classify runs/reviews
    tfreps classify runs/reviews texts.txt --format json --output labelled.jsonl

Texts are cut into tokens as the run was told to (--tokens of train-classifier).
"""

import argparse
import json

from tfreps.program_options import parse_options
from tfreps.text_model import TextModel
from tfreps.text_streams import read_texts, written_whole

PROGRAM = "classify"
TEXTS_AT_ONCE = 1024


def main(argv=None):
    options = parse_options(make_parser(), argv)
    trained = TextModel.open(options.run)
    if trained.is_tagger:
        raise ValueError(f"{options.run} holds a tagger: ask it with tfreps tag.")
    write = {"tab": as_columns, "json": as_json_line}[options.format]
    with written_whole(options.output) as file:
        for texts in read_texts(options.text, TEXTS_AT_ONCE):
            answers = trained.classify(trained.tokenize(texts))
            for text, answer in zip(texts, answers, strict=True):
                file.write(write(text, answer))
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog=f"tfreps {PROGRAM}", description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("run", help="run folder of train-classifier")
    add("text", nargs="?", default="-", help="file, .gz too; without it, what comes on stdin")
    add("--output", help="file to write, whole or not at all (stdout)")
    kinds = ["tab", "json"]
    add("--format", choices=kinds, default="tab", help="label, probability, text; or JSON (tab)")
    return parser


def as_columns(text, answer):
    return f"{answer.label}\t{answer.probabilities[answer.label]:.4f}\t{text}\n"


def as_json_line(text, answer):
    shares = {name: round(share, 4) for name, share in answer.probabilities.items()}
    line = {"text": text, "label": answer.label, "probabilities": shares}
    return json.dumps(line, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
