"""Compares the calibration of the confidence of spans with that of a simpler rule.

    tfreps train-hmm --train ../shared/data/resume_ner/train.char.bmes --scheme bmes --run runs/hmm
    python -m benchmarks.span_confidence runs/hmm ../shared/data/resume_ner/dev.char.bmes

The confidence of a predicted span is its posterior probability: the sum of the probabilities of all
tag sequences that contain it. The simpler rule takes the lowest marginal probability of the tags of
its tokens. The table shows, for both, the mean over the predicted spans, which is the share of
spans that are right if the model is calibrated, and the expected calibration error. The files are
read with the options of the run's training data.
"""

from benchmarks.runner import parse, print_table


def main(argv=None):
    options = parse(
        argv,
        "benchmarks.span_confidence",
        __doc__,
        run={"help": "Run folder of a tagger whose tags have a scheme."},
        data={"nargs": "+", "help": "Files with tagged sentences."},
    )
    from tfreps._src.cli.tagged_files import read_tagged_files
    from tfreps._src.inference.model_loading import load_as
    from tfreps.inference import TextTagger

    trained = load_as(TextTagger, options.run)
    options.format = None  # `None` selects the format of the training data
    sentences = read_tagged_files(options, options.data, kept=trained.run.options)
    print_results(*measure(trained, sentences))
    return 0


def measure(trained, sentences):
    """Returns the confidences of the predicted spans by both rules, and whether each is right."""
    from tfreps import tags

    posteriors, lowest, is_right = [], [], []
    predictions = trained.tag([sentence.tokens for sentence in sentences])
    for sentence, predicted in zip(sentences, predictions, strict=True):
        true = set(tags.spans(sentence.tags, trained.scheme))
        for span in predicted.spans:
            posteriors.append(span.confidence)
            lowest.append(min(predicted.confidences[span.start : span.end]))
            is_right.append(span[:3] in true)
    return {"posterior": posteriors, "lowest marginal": lowest}, is_right


def print_results(confidences, is_right):
    from tfreps.reports import calibration_error

    count = len(is_right)
    print(f"{count:,} predicted spans, of which {sum(is_right) / count:.4f} are right")
    table = [
        [name, f"{sum(values) / count:.4f}", f"{calibration_error(values, is_right):.4f}"]
        for name, values in confidences.items()
    ]
    print_table("confidence | mean | expected calibration error", table)


if __name__ == "__main__":
    raise SystemExit(main())
