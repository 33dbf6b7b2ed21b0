"""Classifies raw texts: the likeliest label and its probability for every line.

    echo "a fine hotel" | tfreps classify runs/reviews
    tfreps classify runs/reviews texts.txt --format json --output labelled.jsonl
    tfreps classify runs/reviews texts.txt --threshold dev

Texts are cut into tokens as the run was told to (--tokens of train-classifier).
"""

import argparse
import json
import sys

from tfreps.cli.options import Option, add_flags, first_line, parse_options
from tfreps.cli.output_checks import check_output
from tfreps.cli.progress import make_progress
from tfreps.cli.text_streams import read_texts
from tfreps.files.atomic_files import written_whole
from tfreps.inference.load import load_as
from tfreps.inference.text_classifier import TextClassifier
from tfreps.runs.run_folder import RunFolder, run_files

PROGRAM = "classify"
TEXTS_AT_ONCE = 1024
LIMITS = {
    "max_line_bytes": Option(
        int, 200_000, "bytes of a text's line; a longer one ends the program (200000)",
        at_least=1,
    ),
}  # fmt: skip


def main(argv=None):
    options = parse_options(make_parser(), argv)
    check_output(options.output, options.overwrite, [options.text, *run_files(options.run)])
    trained = load_as(TextClassifier, options.run)
    threshold = threshold_of(options, trained)
    write = {"tab": as_columns, "json": as_json_line}[options.format]
    progress = make_progress("texts")
    with written_whole(options.output) as file:
        for texts in read_texts(options.text, TEXTS_AT_ONCE, options.max_line_bytes):
            tokens = trained.tokenize(texts)
            answers = trained.classify(tokens)
            for text, answer in zip(texts, answers, strict=True):
                file.write(write(text, with_threshold(answer, trained.names, threshold)))
            progress(len(texts), sum(map(len, tokens)))
    if trained.num_cut:
        print(trained.cut_notice(), file=sys.stderr)
    return 0


def make_parser():
    parser = argparse.ArgumentParser(prog=f"tfreps {PROGRAM}", description=first_line(__doc__))
    add = parser.add_argument
    add("run", help="run folder of a classifier, or published BERT with a head over labels")
    add("text", nargs="?", default="-", help="file, .gz too; without it, what comes on stdin")
    add("--output", help="file to write, whole or not at all (stdout)")
    add("--overwrite", action="store_true", help="replace the output file if it exists")
    kinds = ["tab", "json"]
    add("--format", choices=kinds, default="tab", help="label, probability, text; or JSON (tab)")
    about = "of two labels, the probability from which on it is the second; dev: the best on dev"
    add_flags(parser, LIMITS)
    add("--threshold", metavar="X", help=f"{about} (the likelier label)")
    return parser


def threshold_of(options, trained):
    """The number that --threshold stands for; None without."""
    if options.threshold is None:
        return None
    if len(trained.names) != 2:
        raise ValueError(f"--threshold is for two labels; the run has {len(trained.names)}.")
    if options.threshold == "dev":
        found = RunFolder.open(options.run).results().get("dev", {}).get("threshold")
        if found is None:
            raise ValueError(f"{options.run} has no threshold: it was trained without dev texts.")
        return found
    try:
        number = float(options.threshold)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise ValueError(
            f"--threshold must be dev, or a number from 0 to 1; got {options.threshold}."
        )
    return number


def with_threshold(answer, names, threshold):
    """The answer by the probability of the second label."""
    if threshold is None:
        return answer
    return answer._replace(label=names[answer.probabilities[names[1]] >= threshold])


def as_columns(text, answer):
    return f"{answer.label}\t{answer.probabilities[answer.label]:.4f}\t{text}\n"


def as_json_line(text, answer):
    shares = {name: round(share, 4) for name, share in answer.probabilities.items()}
    line = {"text": text, "label": answer.label, "probabilities": shares}
    return json.dumps(line, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
