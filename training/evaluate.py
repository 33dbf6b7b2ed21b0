"""Evaluates a tagger or classifier on held-out data.

The files are read with the options of the run's training data unless flags override them. An
export has no such options: give --format and the columns or fields unless the defaults fit. The
expected calibration error says how far confidences are from the share of predictions that are
right. --fit-temperature makes confidences more accurate without changing any tag or label.
"""

import contextlib
import pathlib

from tfreps._src.cli.command import Command, Group
from tfreps._src.cli.options import Option, as_flag
from tfreps._src.cli.output_checks import OVERWRITE, check_output
from tfreps._src.files.json_files import as_json, write_json
from tfreps._src.runs.run_folder import RunFolder, run_files
from tfreps.training.options import held_out
from tfreps.training.options.engine import ENGINE

COMMAND = Command(
    "evaluate",
    __doc__,
    {
        "model": Option(
            str, None, "Tagger or classifier: a run folder, given by path or hf:// address, or an "
            "export, given by path.", required=True, metavar="MODEL",
        )
    },
    [
        Group(
            "data",
            "Held-out data and their format, which defaults to that of the run's training data.",
            {
                **held_out.DATA,
                "vectors": Option(
                    str, None, "File of vectors for the held-out data, written by 'tfreps embed'. "
                    "Required if the model was trained with such a file.", metavar="FILE",
                ),
                **held_out.FORMAT,
            },
        ),
        Group("columns", "Columns of files for a tagger.", held_out.FOR_TAGGERS),
        Group("calibration", "Temperature scaling of confidences.", {
            "fit_temperature": Option(
                bool, False, "Fit a temperature to the data and store it in the run. The model "
                "then divides its scores by this temperature, which makes its confidences more "
                "reliable. Use the validation data, which must be held out from training, and "
                "evaluate on the test data afterwards.",
            ),
            "temperature": Option(
                float, None, "Temperature to store in the run before the evaluation. The model "
                "divides its scores by the stored temperature; 1 undoes --fit-temperature. By "
                "default, the stored temperature is not changed.", above=0, at_most=100,
                excludes=("fit_temperature", "engine"),
            ),
        }),
        Group("speed", "Engine of the model.", {
            "engine": ENGINE._replace(excludes=("fit_temperature", "vectors")),
        }),
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
        "tfreps evaluate runs/ner --data validation.conll --fit-temperature",
        "tfreps evaluate runs/reviews --data test.jsonl --format json --label-field stars \\\n"
        "    --output metrics.json",
    ),
)  # fmt: skip


def main(argv=None):
    return COMMAND.run(evaluate, argv)


def evaluate(options):
    read = [*options.data, *filter(None, [options.vectors]), *run_files(options.model)]
    check_output(options.output, options.overwrite, read)
    from tfreps._src.inference.opening_exports import find_export

    is_export = find_export(options.model) is not None
    if is_export or options.engine:
        run, trained, results = None, *measure_engine(options, is_export)
    else:
        run, trained, results = measure_run(options)
    say(results)
    if trained.num_truncated and not trained.is_tagger:
        print(trained.truncation_message())
    if options.output:
        write_json(options.output, as_json(results))
        print(f"\nWrote {options.output}.")
    if run is not None:
        print(run.add_evaluation(COMMAND.name, {"data": options.data, **results}))


def measure_run(options):
    """Evaluates a run folder in TensorFlow, and stores a temperature if an option asks for it.

    Returns the `RunFolder`, the model and a dict of the metrics.
    """
    from tfreps._src.inference.model_loading import load_as
    from tfreps._src.inference.text_model import TextModel
    from tfreps._src.presets.sources import local_copy

    with local_copy(options.model) as path, locked_to_store(options, path):
        run, trained = RunFolder.open(path), load_as(TextModel, path)
        held_out.check_fit(options, trained.is_tagger)
        examples = held_out.read_examples(options, run.options, trained.is_tagger)
        if options.temperature is not None:
            store_temperature(run, options.temperature)
            trained = load_as(TextModel, path)
        results = measure(options, run.results(), trained, examples)
        if options.fit_temperature:
            fitted = fit_to(options, trained, examples)
            store_temperature(run, fitted.temperature)
            before, trained = results, load_as(TextModel, path)
            results = measure(options, run.results(), trained, examples)
            results["calibration"] = {
                "before": calibration_of(before, fitted.nll_before),
                "after": calibration_of(results, fitted.nll_after),
                "left_out": fitted.left_out,
            }
    return run, trained, results


def measure_engine(options, is_export):
    """Evaluates an export, or a run folder in another engine than TensorFlow.

    Returns the model and a dict of the metrics.
    """
    from tfreps._src.loading import load

    for name in "fit_temperature", "temperature", "vectors":
        if getattr(options, name):
            raise ValueError(
                f"{as_flag(name)} applies only to run folders, and {options.model} is an export. "
                f"Omit {as_flag(name)}."
            )
    trained = load(options.model, engine=options.engine)
    if trained.kind not in ("a tagger", "a classifier"):
        raise ValueError(f"{options.model} is {trained.kind}; expected a tagger or classifier.")
    held_out.check_fit(options, trained.is_tagger)
    kept, earlier = {}, {}
    if not is_export:
        from tfreps._src.presets.sources import local_copy

        with local_copy(options.model) as path:
            run = RunFolder.open(path)
            kept, earlier = run.options, run.results()
    examples = held_out.read_examples(options, kept, trained.is_tagger)
    return trained, measure(options, earlier, trained, examples)


@contextlib.contextmanager
def locked_to_store(options, path):
    """Context manager that locks the run folder `path` if a temperature will be stored in it.

    Raises a ValueError if the model is a preset or an address, because no temperature can be stored
    there.
    """
    if not options.fit_temperature and options.temperature is None:
        yield
        return
    from tfreps._src.runs.run_lock import locked

    if path != pathlib.Path(options.model) or RunFolder.open(path).is_preset:
        raise ValueError(
            "MODEL must be a local run folder, in which the temperature can be stored; got "
            f"{options.model}. Store the temperature in the run that the model was published from, "
            "and publish it again."
        )
    with locked(path, COMMAND.name):
        yield


def measure(options, earlier, trained, examples):
    """Returns a dict of the metrics of a model on examples with known tags or labels.

    A classifier with two labels is also evaluated at the threshold that was best on the validation
    data, if `earlier`, the dict of the results of the run, contains this threshold.
    """
    from tfreps._src.reports.calibration import threshold_of_results
    from tfreps._src.reports.evaluation import evaluate_classifier, evaluate_tagger

    stored = {"vectors": options.vectors} if options.vectors else {}
    if trained.is_tagger:
        return evaluate_tagger(trained, examples, **stored)
    threshold = threshold_of_results(earlier, trained.temperature)
    tokens = trained.tokenize([text.text for text in examples])
    return evaluate_classifier(trained, tokens, examples, threshold, **stored)


def fit_to(options, trained, examples):
    """Fits the temperature to examples with known tags or labels; returns `FittedTemperature`."""
    from tfreps._src.inference.temperature import fit_temperature

    if trained.is_tagger:
        tokens, targets = ([x.tokens for x in examples], [x.tags for x in examples])
    else:
        tokens = trained.tokenize([text.text for text in examples])
        targets = [text.label for text in examples]
    return fit_temperature(trained, tokens, targets, vectors=options.vectors)


def store_temperature(run, temperature):
    """Sets the temperature of the model of a run, and saves the model in the run folder."""
    model = run.load_model()
    model.temperature = temperature
    run.save_model(model)


def calibration_of(results, nll):
    """Returns a dict of the negative log-likelihood, the temperature and calibration errors."""
    names = "temperature", "calibration_error", "span_calibration_error"
    return {"nll": nll, **{name: results[name] for name in names if name in results}}


def say(results):
    from tfreps._src.reports.calibration import format_calibration
    from tfreps.reports import format_report

    more = f", AUC {results['auc']:.4f}" if "auc" in results else ""
    if "weighted" in results and "tokens" in results:
        weighted = results["weighted"]
        scores = " / ".join(f"{weighted[name]:.4f}" for name in ("precision", "recall", "f1"))
        more += f"; weighted by tag counts, precision / recall / F1: {scores}"
    print(f"accuracy {results['accuracy']:.4f}{more}")
    print(format_report(results.get("spans", results)))
    if "illegal_transitions" in results:
        found = results["illegal_transitions"]
        print(
            f"illegal transitions: {found['illegal']:,} of {found['transitions']:,}, in "
            f"{found['sentences']:,} sentences"
        )
    print(format_calibration(results))
    if "calibration" in results:
        say_fitted(results["calibration"], "token" if "tokens" in results else "text")


def say_fitted(calibration, unit):
    """Prints how the temperature changed the confidences."""
    rows = {
        "temperature": "temperature",
        "nll": f"negative log-likelihood per {unit}",
        "calibration_error": "expected calibration error",
        "span_calibration_error": "expected calibration error of spans",
    }
    before, after = calibration["before"], calibration["after"]
    print("fitted to these data:")
    for name, title in rows.items():
        if name in after:
            print(f"  {title}: {before[name]:.4f} before, {after[name]:.4f} after")
    spans = [part.get("span_calibration_error", 0.0) for part in (before, after)]
    if spans[1] > spans[0]:
        print(
            "  Warning: the confidences of spans are less accurate than before. If you use them, "
            f"restore the previous temperature with --temperature {before['temperature']:g}."
        )
    if calibration["left_out"]:
        print(
            f"  {calibration['left_out']:,} sentences were left out, because the model gives their "
            "tags the probability 0"
        )
