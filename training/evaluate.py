"""Evaluates a tagger or classifier on held-out data.

The files are read with the options of the run's training data unless flags override them.
"""

from tfreps._src.cli import labeled_texts
from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option, as_clause, as_flag
from tfreps._src.cli.output_checks import OVERWRITE, check_output
from tfreps._src.cli.tagged_files import as_in_training, read_tagged_files
from tfreps._src.files.json_files import as_json, write_json
from tfreps._src.runs.run_folder import RunFolder, run_files

FOR_TAGGERS = {name: as_in_training(name) for name in ("token_column", "tag_column", "separator")}
FIELDS = {
    name: option._replace(
        default=None, needs=(), about=f"For a classifier: {as_clause(option.about)}."
    )
    for name, option in labeled_texts.OPTIONS.items()
    if name not in ("format", "encoding")
}
COMMAND = Command(
    "evaluate",
    __doc__,
    {
        "model": Option(
            str, None, "Run folder of a tagger or classifier, by path or address.", required=True,
            metavar="MODEL",
        )
    },
    [
        Group(
            "data",
            "Held-out data and their format, which defaults to that of the run's training data.",
            {
                "data": Option(
                    str, None, "Files with tagged sentences or labeled texts, or glob patterns.",
                    many=True, required=True, metavar="FILE",
                ),
                "vectors": Option(
                    str, None, "File of vectors for the data, written by 'tfreps embed'. Required "
                    "if the run was trained with --train-vectors.", metavar="FILE",
                ),
                "format": Option(
                    str, None, "Format of the files: one of the formats of 'tfreps train-tagger' "
                    "or 'tfreps train-classifier'. Defaults to the format of the training data.",
                    metavar="NAME",
                ),
                "encoding": as_in_training("encoding"),
                **FIELDS,
            },
        ),
        Group("columns", "Columns of files for a tagger.", FOR_TAGGERS),
        Group("output", "File of the metrics.", {
            "output": Option(
                str, None, "JSON file in which to write the metrics, in addition to results.json "
                "of the run.", metavar="FILE",
            ),
            "overwrite": OVERWRITE,
        }),
    ],
    (
        "tfreps evaluate runs/ner --data test.conll",
        "tfreps evaluate runs/reviews --data test.tsv --output metrics.json",
        "tfreps evaluate runs/reviews --data test.jsonl --format json --label-field stars",
    ),
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(evaluate, argv)


def evaluate(options):
    read = [*options.data, *filter(None, [options.vectors]), *run_files(options.model)]
    check_output(options.output, options.overwrite, read)
    from tfreps._src.inference.load import load_as
    from tfreps._src.inference.text_model import TextModel
    from tfreps._src.reports.evaluation import evaluate_classifier, evaluate_tagger
    from tfreps.presets import fetched

    with fetched(options.model) as path:
        run, trained = RunFolder.open(path), load_as(TextModel, path)
    check_fit(options, trained.is_tagger)
    if trained.is_tagger:
        sentences = read_tagged_files(options, options.data, kept=run.options)
        results = evaluate_tagger(trained, sentences, vectors=options.vectors)
    else:
        kept = run.results().get("validation", {}).get("threshold")
        texts = labeled_texts.read_files(options.data, options, run.options)
        tokens = trained.tokenize([text.text for text in texts])
        results = evaluate_classifier(trained, tokens, texts, kept, vectors=options.vectors)
    say(results)
    if trained.num_truncated and not trained.is_tagger:
        print(trained.cut_notice())
    if options.output:
        write_json(options.output, as_json(results))
        print(f"\nWrote {options.output}.")
    print(run.add_evaluation(COMMAND.name, {"data": options.data, **results}))


def check_fit(options, is_tagger):
    """Raises ValueError for flags that have no effect on the data of this kind of model."""
    kind, other = ("a tagger", "a classifier") if is_tagger else ("a classifier", "a tagger")
    for name in FIELDS if is_tagger else FOR_TAGGERS:
        if getattr(options, name) is not None:
            raise ValueError(f"{as_flag(name)} has no effect with {kind}; it applies to {other}.")


def say(results):
    from tfreps.reports import format_report

    more = f", AUC {results['auc']:.4f}" if "auc" in results else ""
    if "weighted" in results and "tokens" in results:
        weighted = results["weighted"]
        scores = " / ".join(f"{weighted[name]:.4f}" for name in ("precision", "recall", "f1"))
        more += f"; weighted by tag counts, precision / recall / F1: {scores}"
    print(f"accuracy {results['accuracy']:.4f}{more}")
    print(format_report(results.get("spans", results)))
    if "illegal_transitions" in results:
        print(f"illegal transitions: {results['illegal_transitions']}")
