"""Compares taggers or classifiers on the same data, and tests whether they differ.

Each run is compared with the first one by two significance tests: a paired bootstrap and
approximate randomization, which draw random samples of the sentences or texts. A folder with the
runs of several seeds is one method: its metrics are means over the seeds, which the tests compare,
with the standard deviation over the seeds. The tests do not cover how much the metrics would change
with other seeds. The files are read with the options of the first run's training data unless flags
override them.
"""

import json
import os
import pathlib
import shlex

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option, short_names
from tfreps._src.cli.output_checks import OVERWRITE, check_output
from tfreps._src.files.atomic_files import written_whole
from tfreps._src.files.json_files import as_json, write_json
from tfreps._src.runs.run_folder import RunFolder, is_run_folder, run_files
from tfreps._src.runs.seed_folders import seed_folder
from tfreps.training.options import held_out

JSON_LINES = ".jsonl"
COMMAND = Command(
    "compare",
    __doc__,
    {
        "runs": Option(
            str, None, "Two or more taggers, or two or more classifiers: run folders, folders "
            "with the runs of several seeds, and exports, given by path, and published models, "
            "given by path, name or hf:// address.",
            many=True, required=True, metavar="MODEL",
        )
    },
    [
        Group(
            "data",
            "Held-out data and their format, which defaults to that of the first run's training "
            "data.",
            {
                **held_out.DATA,
                "vectors": Option(
                    str, None, "File of vectors for the held-out data, written by 'tfreps embed', "
                    "for runs that were trained with such a file.", metavar="FILE",
                ),
                **held_out.FORMAT,
            },
        ),
        Group("columns", "Columns of files for taggers.", held_out.FOR_TAGGERS),
        Group("tests", "Significance tests.", {
            "samples": Option(int, 10_000, "Number of samples of each test.", at_least=1),
            "seed": Option(int, 0, "Random seed of the samples.", at_least=0),
        }),
        Group("output", "Files to write.", {
            "errors": Option(
                str, None, "File in which to write every span, or every text for classifiers, on "
                "which at least one run is wrong, with a column for each run of each seed: "
                "tab-separated columns, or JSON lines if the name ends in .jsonl.", metavar="FILE",
            ),
            "output": Option(
                str, None, "JSON file in which to write the metrics, the confusion of each run, "
                "and the results of the tests.", metavar="FILE",
            ),
            "overwrite": OVERWRITE._replace(about="Replace the output files if they exist."),
        }),
    ],
    (
        "tfreps compare runs/bilstm runs/bert --data test.conll",
        "tfreps compare runs/bilstm runs/bert runs/linear --data test.conll --errors errors.tsv",
        "tfreps compare runs/cnn runs/slstm --data test.tsv --output comparison.json",
    ),
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(compare, argv)


def compare(options):
    from tfreps._src.reports.comparison import compare_outputs
    from tfreps._src.reports.evaluation import check_known_names

    methods = {name: models_at(path) for name, path in short_names(options.runs).items()}
    check_files(options, methods)
    check_seeds(methods)
    models = load_all({name: next(iter(paths.values())) for name, paths in methods.items()})
    first = next(iter(models.values()))
    held_out.check_fit(options, first.is_tagger)
    trained = [model.run.options for model in models.values() if model.run is not None]
    kept = next((each for each in trained if "format" in each), {})  # exports have no options
    examples = held_out.read_examples(options, kept, first.is_tagger)
    for model in models.values():
        check_known_names(model.names, examples)
    names = list(dict.fromkeys(name for model in models.values() for name in model.names))
    outputs, more = {}, {}
    for name, model in models.items():
        others = [*methods[name].values()][1:]
        outputs[name], more[name] = predict_all(options, model, others, examples)
    if first.is_tagger:
        true, scheme = [x.tags for x in examples], first.scheme
    else:
        true, scheme = [[x.label] for x in examples], None
    found = compare_outputs(true, outputs, scheme, names, options.samples, options.seed, more)
    for name, paths in methods.items():
        if len(paths) > 1:
            found.results["runs"][name]["seeds"] = list(paths)
    say(options, found, examples, first)
    write_files(options, found, examples, model_names(methods))


def models_at(path):
    """Returns the paths of the models at a path under their seeds; `None` for a model alone."""
    folder = pathlib.Path(path)
    run = RunFolder.open(folder) if is_run_folder(folder) else None
    seeds = run.options.get("seeds") if run else None
    if not seeds:
        return {None: path}
    paths = {seed: seed_folder(path, seed) for seed in seeds}
    for seed, own in paths.items():
        if not is_run_folder(own) or not RunFolder.open(own).is_trained:
            raise ValueError(
                f"The run of seed {seed} in {path} has not ended. Continue with: tfreps "
                f"{run.command} --run {shlex.quote(path)} --resume"
            )
    return {seed: str(own) for seed, own in paths.items()}


def model_names(methods):
    """Returns the names of all models, such as `runs/seed-0`."""
    return [
        name if seed is None else str(seed_folder(name, seed))
        for name, paths in methods.items()
        for seed in paths
    ]


def check_seeds(methods):
    """Raises a ValueError if there are folders with different numbers of seeds."""
    numbers = {name: len(paths) for name, paths in methods.items() if len(paths) > 1}
    if len(set(numbers.values())) > 1:
        listed = ", ".join(f"{name} has {number}" for name, number in numbers.items())
        raise ValueError(
            f"MODEL must be folders with the same number of seeds, or single models; {listed}. "
            "Train the missing seeds with --resume --seeds."
        )


def check_files(options, methods):
    """Raises a ValueError if there are fewer than two runs, or a file must not be written."""
    if len(methods) < 2:
        raise ValueError(
            f"MODEL must be at least two different models; got {options.runs[0]} alone. To "
            "evaluate one model, use tfreps evaluate."
        )
    read = [*options.data, *filter(None, [options.vectors])]
    models = [path for paths in methods.values() for path in paths.values()]
    read += [file for path in [*options.runs, *models] for file in run_files(path)]
    for output in options.errors, options.output:
        check_output(output, options.overwrite, read)
    if options.errors and options.output:
        if os.path.abspath(options.errors) == os.path.abspath(options.output):
            raise ValueError(
                f"--errors and --output must be different files; got {options.errors}."
            )


def load_all(paths):
    """Returns the models under their names, in the order of `paths`.

    Raises a ValueError unless all of them are taggers with the same tag scheme, or classifiers.
    """
    from tfreps import load

    models = {name: load(path) for name, path in paths.items()}
    for name, model in models.items():
        if model.kind not in ("a tagger", "a classifier"):
            raise ValueError(f"{paths[name]} is {model.kind}; expected a tagger or classifier.")
    (first, model), *others = models.items()
    for name, other in others:
        if other.kind != model.kind:
            raise ValueError(
                f"MODEL must be all taggers or all classifiers; {paths[first]} is {model.kind}, "
                f"and {paths[name]} is {other.kind}."
            )
        if model.is_tagger and other.scheme != model.scheme:
            raise ValueError(
                "MODEL must be taggers with the same tag scheme, which is that of --data; "
                f"{paths[first]} has {model.scheme or 'no scheme'}, and {paths[name]} has "
                f"{other.scheme or 'no scheme'}. Train one of them on tags in the other scheme."
            )
    return models


def predict_all(options, model, others, examples):
    """Returns the results of `predict` for a model and for the models of the paths `others`.

    The results are a list of the outputs, and a dict from the name of each further metric to a
    list. The models of `others` are loaded one after another, so that one is in memory at a time.
    """
    from tfreps import load

    found = [predict(options, model, examples)]
    for path in others:
        other = load(path)
        if other.names != model.names:
            raise ValueError(
                f"The runs of all seeds must have the same tags or labels; {path} has "
                f"{', '.join(other.names)}, and the first seed has {', '.join(model.names)}."
            )
        found.append(predict(options, other, examples))
    outputs, more = zip(*found, strict=True)
    return list(outputs), {name: [each[name] for each in more] for name in more[0]}


def predict(options, model, examples):
    """Returns the predicted tags of each sentence, or a list of the label of each text.

    Also returns a dict of the metrics that are not sums over sentences: the AUC of a classifier
    with two labels.
    """
    from tfreps._src.reports.evaluation import label_auc

    stored = {}
    if options.vectors and model.run is not None and model.model._reads_vectors:
        stored["vectors"] = options.vectors
    if model.is_tagger:
        locations = [f"{x.file}, line {x.line}" for x in examples]
        found = model.tag([x.tokens for x in examples], locations, **stored)
        return [x.tags for x in found], {}
    found = model.classify(model.tokenize([x.text for x in examples]), **stored)
    auc = label_auc([x.label for x in examples], found, model.names)
    return [[x.label] for x in found], {} if auc is None else {"auc": auc}


def say(options, found, examples, first):
    """Prints the metrics of all runs, the tests against the first run, and the errors."""
    from tfreps._src.reports.comparison import format_errors, format_scores, format_tests

    unit = "sentences" if first.is_tagger else "texts"
    print(f"{len(examples):,} {unit}\n\n{format_scores(found.results)}")
    runs = found.results["runs"]
    if any("seeds" in run for run in runs.values()):
        print(
            "\nFor several seeds, the table shows the mean ± the sample standard deviation. The "
            "tests compare the means. The errors are sums over the seeds."
        )
    name = next(iter(runs))
    for other, tests in found.results["tests"].items():
        print(f"\n{format_tests(name, other, tests)}")
    print(
        f"\nTwo-sided tests with {options.samples:,} samples and seed {options.seed}. A small p "
        f"means that a difference is unlikely to come from the choice of the {unit} alone."
    )
    table = format_errors(found.errors)
    if table:
        print(f"\n{table}")


def write_files(options, found, examples, models):
    """Writes the files of --errors and --output, and prints their names or how to get them.

    `models` are the names of the models, in the order of the predictions in `found.wrong`.
    """
    if options.errors:
        with written_whole(options.errors) as file:
            is_json = options.errors.endswith(JSON_LINES)
            file.writelines(error_lines(found.wrong, examples, models, is_json))
        print(f"\nWrote {options.errors}: {len(found.wrong):,} rows on which a run is wrong.")
    elif found.wrong:
        print(f"\nNext: --errors FILE writes the {len(found.wrong):,} errors, one per row.")
    if options.output:
        how = {"data": options.data, "samples": options.samples, "seed": options.seed}
        write_json(options.output, as_json({**how, **found.results}))
        print(f"Wrote {options.output}.")


def error_lines(wrong, examples, models, is_json):
    """Yields the lines of the file of --errors.

    `wrong` is a list of `ComparedSpan`, and `models` are the names of the models. In a table, a
    span that does not exist is `(none)`, and white space in a text becomes single spaces.
    """
    from tfreps._src.reports.sentence_counts import NO_SPAN

    for number, span in enumerate(wrong):
        row = error_row(span, examples[span.sentence])
        if is_json:
            row["predicted"] = dict(zip(models, span.predicted, strict=True))
            yield json.dumps(row, ensure_ascii=False) + "\n"
            continue
        sentence = {name: row.pop(name) for name in ["sentence"] if name in row}
        if number == 0:
            yield "\t".join([*row, *models, *sentence]) + "\n"
        cells = [*row.values(), *span.predicted, *sentence.values()]
        texts = (NO_SPAN if cell is None else " ".join(str(cell).split()) for cell in cells)
        yield "\t".join(texts) + "\n"


def error_row(span, example):
    """Returns a dict with the position of a span, its text, its true type and its sentence."""
    place = {"file": example.file, "line": example.line}
    if not hasattr(example, "tokens"):
        return {**place, "text": example.text, "true": span.true}
    return {
        **place,
        "start": span.start,
        "end": span.end,
        "text": " ".join(example.tokens[span.start : span.end]),
        "true": span.true,
        "sentence": " ".join(example.tokens),
    }
