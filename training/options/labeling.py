"""Runs the steps that train-tagger and train-classifier share."""

import shlex

from tfreps._src.plots.run_plots import plot_run
from tfreps._src.reports.calibration import format_calibration
from tfreps._src.reports.tag_reports import format_report
from tfreps.training.loop import training
from tfreps.training.options.encoder_options import ENCODERS


def prepare(options, earlier):
    """Sets the precision, the random seed and determinism of a training run.

    It must be called before weights are created. `earlier` is the run to resume, or `None`.
    """
    name = ENCODERS[options.encoder].width
    width = getattr(options, name) if name else None
    # The precision was not measured for encoders that are trained further, so auto is float32.
    kind = "embeddings" if getattr(options, "init", None) else options.encoder
    training.set_precision_and_seed(options, earlier, kind, options.batch_size, width)


def finish(run, model, best, measured, command):
    """Writes the results and plots of a run, and prints a summary.

    `measured` maps each part of the data, such as `"test"`, to its metrics. `command` is the name
    of the command that applies the model, `"tag"` or `"classify"`.
    """
    run.write_results({**run.results(), "best": best, **measured})
    last = measured.get("test") or measured.get("validation") or {}
    for note in plot_run(run, model, last.get("confusion")):
        print(note)
    for part, results in measured.items():
        auc = f", AUC {results['auc']:.4f}" if "auc" in results else ""
        print(f"\n{part}: accuracy {results['accuracy']:.4f}{auc}")
        report = results.get("spans") if "sentences" in results else results
        if report:
            print(format_report(report))
        print(format_calibration(results))
    paths = f"{run.model_path}, {run.results_path} and {run.plots_path}"
    if not run.plots_path.exists():  # there are no plots if matplotlib is not installed
        paths = f"{run.model_path} and {run.results_path}"
    folder = shlex.quote(str(run.path))
    print(
        f"\nWrote {paths}.\n"
        f"Next: tfreps {command} {folder} FILE, tfreps evaluate {folder} --data FILE, or "
        f"tfreps export {folder} --output DIR."
    )
