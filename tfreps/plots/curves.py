"""Draws learning curves: the metrics of one run or several, over epochs or steps."""

import json
import os
import pathlib

from tfreps.plots.canvas import new_figure, save_figure

PLACES = ("epoch", "step")
RUNS = {"train": "--", "validation": "-"}
ASIDE = "training/"  # metrics of the training, not of the model
PANELS = 4  # in a row
LOGARITHMIC = 20  # a perplexity that falls by this factor is drawn so


def learning_curves(history: str | os.PathLike, path: str | os.PathLike) -> pathlib.Path:
    """Draws every metric of a run over its epochs, train and validation in one panel each.

    Args:
        history: the run's `history.jsonl`, as `EpochLog` or `TrainingLog` writes it.
        path: the PNG file to write, whole or not at all.

    Returns:
        The path.

    Raises:
        ValueError: matplotlib is not installed, or the history holds no metric.
    """
    return save_figure(learning_curves_figure({"": history}), path)


def learning_curves_figure(histories, names=None, over=None):
    """Draws the metrics of runs, train dashed and validation in full lines, a panel for each.

    Args:
        histories: dict of name -> `history.jsonl` of a run.
        names: the metrics to draw, such as `"loss"`; None for all of them, but for those about
            the training (`"training/learning_rate"` ...), which are drawn if there are no others.
        over: `"epoch"`: what was measured at the end of each; `"step"`: also what was measured
            in between; None for epochs if all the runs are counted in them, else steps.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: matplotlib is not installed, a file is no history, there is no metric to
            draw, or none of such a name.

    Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "history.jsonl"
    >>> _ = path.write_text('{"step": 9, "epoch": 1, "run": "train", "loss": 0.5}')
    >>> [axes.get_title() for axes in learning_curves_figure({"mine": path}).axes]
    ['loss']
    """
    runs = {label: read_history(path) for label, path in histories.items()}
    if over not in (None, *PLACES):
        raise ValueError(f"`over` must be one of {', '.join(PLACES)}; got {over!r}.")
    by_epoch = all(any("epoch" in line for line in lines) for lines in runs.values())
    place = over or ("epoch" if by_epoch else "step")
    runs = {label: [x for x in lines if place in x] for label, lines in runs.items()}
    names = _names(runs, names, list(histories.values()))
    columns = min(len(names), PANELS)
    rows = -(-len(names) // columns)
    figure = new_figure(4.5 * columns, 3.5 * rows)
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    lines = {}
    for axes, name in zip(panels, names, strict=False):
        lines |= _draw(axes, runs, place, name)
    for axes in panels[len(names) :]:
        axes.remove()
    columns = {"ncols": 2 * columns, "fontsize": 8}
    figure.legend(lines.values(), lines, loc="outside lower center", **columns)
    return figure


def read_history(path: str | os.PathLike) -> list[dict]:
    """The lines of a `history.jsonl`, each a dict; a last line that is torn is left out.

    Raises:
        ValueError: another line is no JSON object with `step` and `run`; names file and line.
    """
    lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            values = json.loads(line)
            if not isinstance(values, dict) or not {"step", "run"} <= set(values):
                raise ValueError("no `step` and `run`")
        except (ValueError, TypeError, RecursionError) as error:
            if number == len(lines):  # written to at this very moment
                break
            raise ValueError(
                f"{path}, line {number}: expected metrics of a run as a JSON object, as tfreps "
                f"writes them to history.jsonl; got {line[:60]!r} ({error})."
            ) from error
        found.append(values)
    return found


def _names(runs, wanted, paths):
    """The metrics to draw, in the order in which they come."""
    lines = [line for each in runs.values() for line in each]
    names = list(dict.fromkeys(n for line in lines for n in line if n not in (*PLACES, "run")))
    if not names:
        raise ValueError(f"{', '.join(map(str, paths))} holds no metrics that could be drawn.")
    for name in wanted or ():
        if name not in names:
            raise ValueError(f"There is no metric {name!r}; there are {', '.join(names)}.")
    return wanted or [n for n in names if not n.startswith(ASIDE)] or names


def _draw(axes, runs, place, name):
    """One panel; a line for what is said of it, in the colour of the run, or of train or not."""
    lines = {}
    drawn = []
    for number, (label, history) in enumerate(runs.items()):
        for kind, style in RUNS.items():
            points = [(x[place], x[name]) for x in history if x["run"] == kind and name in x]
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
    if place == "epoch":
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set(xlabel=place, title=name)
    return lines
