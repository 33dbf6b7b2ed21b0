"""Classifies raw texts: prints the most likely label of each text with its probability.

Texts are tokenized in the same way as in training (see --tokens of tfreps train-classifier). With
--output-format json, each text gets one line, the JSON of `tfreps.inference.ClassifiedText.asdict`:

    {"text": "a fine hotel", "label": "good", "confidence": 0.8808,
     "probabilities": {"bad": 0.1192, "good": 0.8808}}

Unless the labels are written to the terminal, standard error shows the progress and the time left.
"""

import json
import sys

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option
from tfreps._src.cli.output_checks import OUTPUT, OVERWRITE, check_output
from tfreps._src.cli.text_streams import (
    count_lines,
    line_limit,
    make_text_progress,
    read_texts,
)
from tfreps._src.files.atomic_files import written_whole
from tfreps._src.runs.run_folder import run_files
from tfreps.training.options.engine import ENGINE, needs_tensorflow

TEXTS_AT_ONCE = 1024
COMMAND = Command(
    "classify",
    __doc__,
    {
        "model": Option(
            str, None, "Classifier: a run folder, an export, or a published BERT model with a "
            "label head, given by path, name (see 'tfreps presets') or hf:// address.",
            required=True, metavar="MODEL",
        ),
        "text": Option(
            str, "-", "File with one text per line, optionally gzipped; - reads standard input.",
            metavar="FILE",
        ),
    },
    [
        Group("input", "Limits of the texts.", {"max_line_bytes": line_limit(200_000)}),
        Group("speed", "Engine of the model.", {"engine": ENGINE}),
        Group("output", "File and format of the labels.", {
            "output": OUTPUT,
            "overwrite": OVERWRITE,
            "output_format": Option(
                str, "tab", "Output format: columns of label, probability and text (tab), or JSON "
                "lines (json).", ["tab", "json"],
            ),
            "threshold": Option(
                str, None, "Minimum probability at which the second of the two labels in the run's "
                "labels.txt is chosen. With 'validation', the threshold that was best on the "
                "validation data is used. By default, the more likely label is chosen.",
                metavar="X",
            ),
        }),
    ],
    (
        "tfreps classify runs/reviews texts.txt",
        "tfreps classify runs/reviews texts.txt --output-format json --output labeled.jsonl",
        "tfreps classify runs/reviews texts.txt --threshold validation",
    ),
    tensorflow=needs_tensorflow,
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(classify, argv)


def classify(options):
    check_output(options.output, options.overwrite, [options.text, *run_files(options.model)])
    from tfreps._src.loading import load_kind

    trained = load_kind("a classifier", options.model, options.engine)
    threshold = threshold_of(options, trained)
    write = {"tab": as_columns, "json": as_json_line}[options.output_format]
    progress = make_text_progress("texts", count_lines(options.text), options.output)
    with written_whole(options.output) as file:
        for texts in read_texts(options.text, TEXTS_AT_ONCE, options.max_line_bytes):
            tokens = trained.tokenize(texts)
            for text, prediction in zip(texts, trained.classify(tokens), strict=True):
                prediction = with_threshold(prediction, trained.names, threshold)
                file.write(write(prediction._replace(text=text)))
            progress(len(texts), sum(map(len, tokens)))
    if trained.num_truncated:
        print(trained.truncation_message(), file=sys.stderr)


def threshold_of(options, trained):
    """Returns the threshold as a number, or `None` without --threshold."""
    if options.threshold is None:
        return None
    if len(trained.names) != 2:
        raise ValueError(
            f"--threshold requires a classifier with two labels; {options.model} has "
            f"{len(trained.names)} labels. Omit --threshold."
        )
    if options.threshold == "validation":
        from tfreps._src.reports.calibration import threshold_of_results

        found = None
        if trained.run:
            found = threshold_of_results(trained.run.results(), trained.temperature)
        if found is None:
            raise ValueError(
                "--threshold validation needs the threshold that was best on the validation data, "
                f"which {options.model} does not contain. Give a number from 0 to 1 instead."
            )
        return found
    try:
        number = float(options.threshold)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise ValueError(
            f"--threshold must be validation or a number from 0 to 1; got {options.threshold}."
        )
    return number


def with_threshold(prediction, names, threshold):
    """Returns a copy of a prediction, with the label that the threshold selects.

    The label is `names[1]` if the probability of `names[1]` is at least `threshold`, otherwise
    `names[0]`. If `threshold` is `None`, the prediction is returned unchanged.
    """
    if threshold is None:
        return prediction
    return prediction._replace(label=names[prediction.probabilities[names[1]] >= threshold])


def as_columns(prediction):
    return f"{prediction.label}\t{prediction.confidence:.4f}\t{prediction.text}\n"


def as_json_line(prediction):
    """Returns a line of JSON with the text, the label and the probabilities of all labels."""
    return json.dumps(prediction.asdict(digits=4), ensure_ascii=False) + "\n"
