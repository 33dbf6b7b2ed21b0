"""Measures a tagger or classifier on held-out data.

    tfreps evaluate runs/ner --data test.conll
    tfreps evaluate runs/reviews --data test.tsv

The files are read as the run's training data were, unless flags say otherwise.
"""

import argparse
import json

from tfreps.cli.options import first_line, parse_options
from tfreps.cli.output_checks import check_output
from tfreps.data import read_labelled, read_tagged
from tfreps.files.atomic_files import written_whole
from tfreps.files.json_files import as_json
from tfreps.inference.load import load_as
from tfreps.inference.text_model import TextModel
from tfreps.reports import format_report
from tfreps.reports.evaluation import evaluate_classifier, evaluate_tagger
from tfreps.runs.run_folder import RunFolder, run_files

PROGRAM = "evaluate"
COLUMNS, FIELDS = ("token_column", "tag_column"), ("text_field", "label_field")
HOW_READ = "format", "encoding", *COLUMNS, *FIELDS


def main(argv=None):
    options = parse_options(make_parser(), argv)
    check_output(options.output, options.overwrite, inputs(options))
    run, trained = RunFolder.open(options.run), load_as(TextModel, options.run)
    reading = {name: run.options[name] for name in HOW_READ if name in run.options}
    given = {
        name: getattr(options, name) for name in HOW_READ if getattr(options, name) is not None
    }
    check_fit(given, trained.is_tagger)
    reading |= given
    if trained.is_tagger:
        sentences = read_sentences(options.data, reading)
        results = evaluate_tagger(trained, sentences, vectors=options.vectors)
    else:
        kept = run.results().get("dev", {}).get("threshold")
        texts = read_labelled(options.data, empty_texts="keep", **reading)
        tokens = trained.tokenize([text.text for text in texts])
        results = evaluate_classifier(trained, tokens, texts, kept, vectors=options.vectors)
    say(results)
    if trained.num_cut and not trained.is_tagger:
        print(trained.cut_notice())
    if options.output:
        with written_whole(options.output) as file:
            json.dump(as_json(results), file, indent=2)
        print(f"\nWrote {options.output}.")
    print(run.add_evaluation(PROGRAM, {"data": options.data, **results}))
    return 0


def inputs(options):
    """The files that are read, and so must not be the output."""
    return [*options.data, *filter(None, [options.vectors]), *run_files(options.run)]


def make_parser():
    parser = argparse.ArgumentParser(prog=f"tfreps {PROGRAM}", description=first_line(__doc__))
    add = parser.add_argument
    add("run", help="run folder of train-tagger, train-classifier or train-hmm")
    add("--data", nargs="+", required=True, help="files or globs with the right answers")
    add("--output", help="JSON file for the figures, beside the run's results.json")
    add("--overwrite", action="store_true", help="replace the output file if it exists")
    add("--vectors", help="file of `tfreps embed` for a model trained on stored vectors")
    add("--format", help="of the data, as for training (the run's, and so are those below)")
    add("--token-column", type=int, metavar="N", help="of a tagger's data")
    add("--tag-column", type=int, metavar="N", help="of a tagger's data")
    add("--text-field", metavar="NAME", help="of a classifier's data")
    add("--label-field", metavar="NAME", help="of a classifier's data")
    add("--encoding", help="of the files")
    return parser


def check_fit(given, is_tagger):
    """Refuses flags that say nothing about the data of such a model."""
    for name in FIELDS if is_tagger else COLUMNS:
        if name in given:
            kind = "a tagger" if is_tagger else "a classifier"
            raise ValueError(f"--{name.replace('_', '-')} is of no use for the data of {kind}.")


def read_sentences(files, reading):
    names = "format", "encoding"
    if reading.get("format", "conll") == "conll":
        names += COLUMNS
    return read_tagged(files, **{name: reading[name] for name in names if name in reading})


def say(results):
    more = f", AUC {results['auc']:.4f}" if "auc" in results else ""
    if "weighted" in results and "tokens" in results:
        weighted = results["weighted"]
        scores = " / ".join(f"{weighted[name]:.4f}" for name in ("precision", "recall", "f1"))
        more += f"; tags weighted by their counts, precision / recall / F1: {scores}"
    print(f"accuracy {results['accuracy']:.4f}{more}")
    print(format_report(results.get("spans", results)))
    if "illegal_transitions" in results:
        print(f"illegal transitions: {results['illegal_transitions']}")


if __name__ == "__main__":
    raise SystemExit(main())
