"""Draws learning curves: the metrics of one or more runs over epochs or steps."""

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tfreps._src.files.argument_checks import check_choice
from tfreps._src.plots.canvas import new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

X_AXES = ("epoch", "step")
XAxis = Literal["epoch", "step"]
Path = str | os.PathLike[str]
History = list[dict[str, Any]]  # the parsed lines of a history.jsonl
Points = dict[float, list[float]]  # the values of a metric in all histories of a run, by epoch
RUNS = {"train": "--", "validation": "-"}
ASIDE = "training/"  # prefix of metrics of the training process, such as the learning rate
PANELS = 4  # number of panels per row
LOGARITHMIC = 20  # a perplexity that varies by more than this factor has a logarithmic axis


def learning_curves_figure(
    histories: Mapping[str, Path | Sequence[Path]],
    metrics: Sequence[str] | None = None,
    x_axis: XAxis | None = None,
    best_steps: Mapping[str, Sequence[int | None]] | None = None,
) -> "Figure":
    """Draws the metrics of one or more runs, with one panel per metric.

    Training metrics are drawn as dashed lines, and validation metrics as solid lines. Runs that
    differ in their random seed are drawn as one line of their means and a band from the lowest to
    the highest value.

    Args:
        histories: dict from names of runs to the paths of their `history.jsonl` files. A list of
            paths contains those of runs that differ in their random seed.
        metrics: list of str. Names of the metrics to draw, such as `["loss"]`. If `None`, all
            metrics are drawn, except for metrics of the training process, such as
            `"training/learning_rate"`, which are drawn only if there are no other metrics. Defaults
            to `None`.
        x_axis: str. The horizontal axis: `"epoch"` draws the metrics that were measured at the end
            of each epoch; `"step"` also draws metrics that were measured within epochs. If `None`,
            the axis is `"epoch"` if every history has epochs, and `"step"` otherwise. Defaults to
            `None`.
        best_steps: dict from names of runs to the training step after which each of their histories
            was best, or `None` if it is not known. These points of the validation metrics are
            marked with a star. If `None`, no points are marked. Defaults to `None`.

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
    paths = {
        label: [given] if isinstance(given, str | os.PathLike) else list(given)
        for label, given in histories.items()
    }
    runs = {label: [read_history(path) for path in own] for label, own in paths.items()}
    check_choice((*X_AXES, None), x_axis=x_axis)
    if x_axis is None:
        every = [lines for own in runs.values() for lines in own]
        by_epoch = all(any("epoch" in line for line in lines) for lines in every)
        x_axis = "epoch" if by_epoch else "step"
    runs = {
        label: [[line for line in lines if x_axis in line] for lines in own]
        for label, own in runs.items()
    }
    every = [lines for own in runs.values() for lines in own]
    metrics = _found_metrics(every, metrics, [x for own in paths.values() for x in own], x_axis)
    columns = min(len(metrics), PANELS)
    rows = -(-len(metrics) // columns)
    figure = new_figure(4.5 * columns, 3.5 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    lines = {}
    for axes, metric in zip(panels, metrics, strict=False):
        lines |= _draw(axes, runs, x_axis, metric, best_steps or {})
    for axes in panels[len(metrics) :]:
        axes.remove()
    labels, shown = [*lines], [*lines.values()]
    figure.legend(shown, labels, loc="outside lower center", ncols=2 * columns, fontsize=8)
    return figure


def read_history(path: str | os.PathLike[str]) -> History:
    """Reads the metrics of a run from its `history.jsonl` file.

    Each line of the file must be a JSON object with the keys `step` and `run`. Blank lines and an
    incomplete last line, which the run may still be writing, are skipped.

    Returns:
        list of dicts, one for each line.

    Raises:
        ValueError: If another line is not valid. The message names the file and the line.
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
            if number == len(lines):  # the run may still be writing this line
                break
            raise ValueError(
                f"{path}, line {number}: expected the metrics of a run as a JSON object, as in a "
                f"history.jsonl written by tfreps; got {line[:60]!r} ({error})."
            ) from error
        found.append(values)
    return found


def _found_metrics(
    histories: Sequence[History],
    wanted: Sequence[str] | None,
    paths: Sequence[str | os.PathLike[str]],
    x_axis: XAxis,
) -> Sequence[str]:
    """Returns the names of the metrics to draw.

    These are `wanted` or, if it is `None`, the metrics in the histories, as
    `learning_curves_figure` describes. Raises a ValueError if a wanted metric is not in the
    histories, or if they contain no metrics. `paths` are the files that the message names.
    """
    lines = [line for each in histories for line in each]
    names = list(dict.fromkeys(n for line in lines for n in line if n not in (*X_AXES, "run")))
    if not names:
        files = ", ".join(map(str, paths))
        raise ValueError(
            f"{files} must contain metrics per {x_axis}; none were found. Choose files with "
            "such metrics, or a different value of `x_axis`."
        )
    for name in wanted or ():
        if name not in names:
            raise ValueError(
                f"`metrics` contains {name!r}, which the runs do not have. They have "
                f"{', '.join(names)}."
            )
    return wanted or [n for n in names if not n.startswith(ASIDE)] or names


def _draw(
    axes: Any,
    runs: Mapping[str, Sequence[History]],
    x_axis: XAxis,
    metric: str,
    best_steps: Mapping[str, Sequence[int | None]],
) -> dict[str, Any]:
    """Draws a metric of all runs into one panel.

    Returns a dict from the label of each curve in the legend to its Matplotlib line.
    """
    lines = {}
    drawn = []
    several = len(runs) > 1
    for number, (label, histories) in enumerate(runs.items()):
        for kind, style in RUNS.items():
            points = _points(histories, kind, x_axis, metric)
            if not points:
                continue
            color = f"C{number if several else list(RUNS).index(kind)}"
            marker = "." if len(points) <= 100 else ""
            means = [sum(values) / len(values) for values in points.values()]
            (line,) = axes.plot([*points], means, style, color=color, marker=marker)
            if len(histories) > 1:
                low, high = map(min, points.values()), map(max, points.values())
                axes.fill_between([*points], [*low], [*high], color=color, alpha=0.2, lw=0)
            lines[f"{label} {kind}" if several else kind] = line
            drawn += [value for values in points.values() for value in values]
        best = _best_points(histories, best_steps.get(label, ()), x_axis, metric)
        if best:
            style = {"s": 90, "marker": "*", "edgecolors": "k", "zorder": 3}
            lines["best epoch"] = axes.scatter(*zip(*best, strict=True), color=color, **style)
    if drawn and "perplexity" in metric and 0 < LOGARITHMIC * min(drawn) < max(drawn):
        axes.set_yscale("log")
    if x_axis == "epoch":
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel=x_axis, title=metric)
    return lines


def _points(histories: Sequence[History], kind: str, x_axis: XAxis, metric: str) -> Points:
    """Returns the values of a metric at each epoch or step, in the order of the epochs or steps.

    `kind` is `"train"` or `"validation"`.
    """
    found: Points = {}
    for line in (line for history in histories for line in history):
        if line["run"] == kind and metric in line:
            found.setdefault(line[x_axis], []).append(line[metric])
    return dict(sorted(found.items())) if len(histories) > 1 else found


def _best_points(
    histories: Sequence[History], steps: Sequence[int | None], x_axis: XAxis, metric: str
) -> list[tuple[float, float]]:
    """Returns the point of a validation metric after the best step of each history."""
    return [
        (line[x_axis], line[metric])
        for history, step in zip(histories, steps, strict=False)
        for line in history
        if line["run"] == "validation" and line["step"] == step and metric in line
    ]
