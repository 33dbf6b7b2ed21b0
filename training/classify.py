"""Classifies raw texts: prints the most likely label of each and its probability.

Texts are tokenized in the same way as in training (see --tokens of tfreps train-classifier).
"""

import json
import sys

from tfreps.cli.options import Option, add_flags, first_line, parse_options
from tfreps.cli.output_checks import check_output
from tfreps.cli.program_help import program_parser
from tfreps.cli.progress import make_progress
from tfreps.cli.short_texts import run_short_text_eagerly
from tfreps.cli.text_streams import is_last, read_texts
from tfreps.files.atomic_files import written_whole
from tfreps.inference.load import load_as
from tfreps.inference.text_classifier import TextClassifier
from tfreps.runs.run_folder import run_files

PROGRAM = "classify"
TEXTS_AT_ONCE = 1024
LIMITS = {
    "max_line_bytes": Option(
        int, 200_000, "Maximum number of bytes in a line. A longer line is an error.", at_least=1
    ),
}  # fmt: skip
EXAMPLES = (
    "tfreps classify runs/reviews texts.txt",
    "tfreps classify runs/reviews texts.txt --format json --output labelled.jsonl",
    "tfreps classify runs/reviews texts.txt --threshold dev",
)


def main(argv=None):
    options = parse_options(make_parser(), argv)
    check_output(options.output, options.overwrite, [options.text, *run_files(options.run)])
    trained = load_as(TextClassifier, options.run)
    threshold = threshold_of(options, trained)
    write = {"tab": as_columns, "json": as_json_line}[options.format]
    progress = make_progress("texts")
    with written_whole(options.output) as file:
        blocks = read_texts(options.text, TEXTS_AT_ONCE, options.max_line_bytes)
        for number, texts in enumerate(blocks):
            tokens = trained.tokenize(texts)
            is_all = number == 0 and is_last(texts, options.text, TEXTS_AT_ONCE)
            run_short_text_eagerly(trained.model, tokens, is_all)
            answers = trained.classify(tokens)
            for text, answer in zip(texts, answers, strict=True):
                file.write(write(text, with_threshold(answer, trained.names, threshold)))
            progress(len(texts), sum(map(len, tokens)))
    if trained.num_cut:
        print(trained.cut_notice(), file=sys.stderr)
    return 0


def make_parser():
    parser = program_parser(f"tfreps {PROGRAM}", first_line(__doc__), EXAMPLES)
    add = parser.add_argument
    about = (
        "Run folder of a classifier, or published BERT model with a label head, by path, name "
        "('tfreps presets') or hf:// address."
    )
    add("run", help=about)
    about = "File with one text per line, optionally gzipped; - reads standard input."
    add("text", nargs="?", default="-", help=about)
    add_flags(parser.add_argument_group("input", "Limits of the texts."), LIMITS)
    add = parser.add_argument_group("output", "File and format of the labels.").add_argument
    add("--output", metavar="FILE", help="File to write. Defaults to standard output.")
    add("--overwrite", action="store_true", help="Replace the output file if it exists.")
    about = "Output format: columns of label, probability and text (tab), or JSON lines (json)."
    add("--format", choices=["tab", "json"], default="tab", help=about)
    about = (
        "Minimum probability at which the second of two labels, in the order of the run's "
        "labels.txt, is chosen, or the word 'dev' to use the threshold that was best on the dev "
        "data. By default, the more likely label is chosen."
    )
    add("--threshold", metavar="X", help=about)
    return parser


def threshold_of(options, trained):
    """Returns the threshold as a number, or `None` without --threshold."""
    if options.threshold is None:
        return None
    if len(trained.names) != 2:
        raise ValueError(
            f"--threshold needs a classifier with two labels; this one has {len(trained.names)}."
        )
    if options.threshold == "dev":
        results = trained.run.results() if trained.run else {}
        found = results.get("dev", {}).get("threshold")
        if found is None:
            raise ValueError(
                "--threshold dev needs the threshold that was best on the dev data, which "
                f"{options.run} does not contain. Give a number from 0 to 1 instead."
            )
        return found
    try:
        number = float(options.threshold)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise ValueError(
            f"--threshold must be dev or a number from 0 to 1; got {options.threshold}."
        )
    return number


def with_threshold(answer, names, threshold):
    """Returns the answer with the label that the threshold selects."""
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
