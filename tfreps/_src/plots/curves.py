"""Draws learning curves: the metrics of one or more runs over epochs or steps."""

import json
import os
import pathlib

from tfreps._src.files.argument_checks import check_choice
from tfreps._src.plots.canvas import new_figure

AXES = ("epoch", "step")
RUNS = {"train": "--", "validation": "-"}
ASIDE = "training/"  # prefix of metrics of the training process, such as the learning rate
PANELS = 4  # per row
LOGARITHMIC = 20  # a perplexity that varies by more than this factor has a logarithmic axis


def learning_curves_figure(histories, metrics=None, x_axis=None):
    """Draws the metrics of one or more runs, with one panel per metric.

    Training metrics are drawn as dashed lines, and validation metrics as solid lines.

    Args:
        histories: dict from names of runs to the paths of their `history.jsonl` files.
        metrics: list of str. Names of the metrics to draw, such as `["loss"]`. If `None`, all
            metrics are drawn, except for those of the training process (such as
            `"training/learning_rate"`), which are drawn only if there are no others. Defaults to
            `None`.
        x_axis: str. The horizontal axis: `"epoch"` draws the metrics that were measured at the end
            of each epoch; `"step"` also draws those that were measured in between. If `None`, it is
            `"epoch"` if every history has epochs, and `"step"` otherwise. Defaults to `None`.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If matplotlib is not installed, if `x_axis` is invalid, if a file is not a
            history, if a metric in `metrics` does not exist, or if there are no metrics.
        OSError: If a history cannot be read.

    Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "history.jsonl"
    >>> _ = path.write_text('{"step": 9, "epoch": 1, "run": "train", "loss": 0.5}')
    >>> [axes.get_title() for axes in learning_curves_figure({"mine": path}).axes]
    ['loss']
    """
    runs = {label: read_history(path) for label, path in histories.items()}
    check_choice((*AXES, None), x_axis=x_axis)
    by_epoch = all(any("epoch" in line for line in lines) for lines in runs.values())
    x_axis = x_axis or ("epoch" if by_epoch else "step")
    runs = {label: [x for x in lines if x_axis in x] for label, lines in runs.items()}
    names = _names(runs, metrics, list(histories.values()), x_axis)
    columns = min(len(names), PANELS)
    rows = -(-len(names) // columns)
    figure = new_figure(4.5 * columns, 3.5 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    lines = {}
    for axes, name in zip(panels, names, strict=False):
        lines |= _draw(axes, runs, x_axis, name)
    for axes in panels[len(names) :]:
        axes.remove()
    columns = {"ncols": 2 * columns, "fontsize": 8}
    figure.legend(lines.values(), lines, loc="outside lower center", **columns)
    return figure


def read_history(path: str | os.PathLike[str]) -> list[dict]:
    """Reads a `history.jsonl` file into a list of dicts, skipping an incomplete last line.

    Raises:
        ValueError: If any other line that is not blank is not a JSON object with the keys `step`
            and `run`. The message names the file and the line.
        OSError: If the file cannot be read.
    """
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
            if not isinstance(values, dict) or not {"step", "run"} <= set(values):
                raise ValueError("`step` or `run` is missing")
        except (ValueError, TypeError, RecursionError) as error:
            if number == len(lines):  # the line is being written
                break
            raise ValueError(
                f"{path}, line {number}: expected the metrics of a run as a JSON object, as in a "
                f"history.jsonl written by tfreps; got {line[:60]!r} ({error})."
            ) from error
        found.append(values)
    return found


def _names(runs, wanted, paths, x_axis):
    """Returns `wanted`, or the names of the metrics to draw in the order of the histories."""
    lines = [line for each in runs.values() for line in each]
    names = list(dict.fromkeys(n for line in lines for n in line if n not in (*AXES, "run")))
    if not names:
        files = ", ".join(map(str, paths))
        raise ValueError(
            f"Found no per-{x_axis} metrics in {files}. Choose files with such metrics or a "
            "different value of `over`."
        )
    for name in wanted or ():
        if name not in names:
            raise ValueError(
                f"Found no metric {name!r}. Choose one of the metrics of the runs: "
                f"{', '.join(names)}."
            )
    return wanted or [n for n in names if not n.startswith(ASIDE)] or names


def _draw(axes, runs, x_axis, name):
    """Draws one panel and returns a dict from legend labels to lines."""
    lines = {}
    drawn = []
    for number, (label, history) in enumerate(runs.items()):
        for kind, style in RUNS.items():
            points = [(x[x_axis], x[name]) for x in history if x["run"] == kind and name in x]
            if not points:
                continue
            several = len(runs) > 1
            look = {"color": f"C{number if several else list(RUNS).index(kind)}"}
            look["marker"] = "." if len(points) <= 100 else ""
            (line,) = axes.plot(*zip(*points, strict=True), style, **look)
            lines[f"{label} {kind}" if several else kind] = line
            drawn += [value for _, value in points]
    if drawn and "perplexity" in name and min(drawn) > 0 and max(drawn) > LOGARITHMIC * min(drawn):
        axes.set_yscale("log")
    if x_axis == "epoch":
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel=x_axis, title=name)
    return lines
