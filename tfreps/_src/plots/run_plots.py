"""Draws the plots of a training run of a tagger or classifier."""

import functools
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from tfreps._src.plots.canvas import matplotlib_module, save_figure, show_in_tensorboard
from tfreps._src.plots.curves import learning_curves_figure
from tfreps._src.plots.fonts import Fonts, find_fonts
from tfreps._src.plots.matrices import matrix_figure, plot_confusion_matrix, plot_mix_weights

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tfreps._src.models.classifier import Classifier
    from tfreps._src.models.tagger import Tagger
    from tfreps._src.runs.run_folder import RunFolder


def plot_run(
    run: "RunFolder",
    model: "Tagger | Classifier",
    confusion_counts: "ArrayLike | None" = None,
) -> list[str]:
    """Writes the plots of a training run to its folder and to TensorBoard.

    The plots are `learning_curves.png` if there is a history, `confusion.png` if `confusion_counts`
    is given, `transitions.png` for a CRF (with forbidden transitions in white), and `elmo_mix.png`
    and `vector_mix.png` for learned mixes of layers. Without matplotlib, no plots are drawn.

    Args:
        run: `tfreps.runs.RunFolder`.
        model: `Tagger` or `Classifier`.
        confusion_counts: Integer array of shape `[K, K]`: how often each true class (row) was
            predicted as each class (column). If `None`, `confusion.png` is not drawn. Defaults to
            `None`.

    Returns:
        A list of messages (str) for the user, which say why there are no plots, why a plot could
        not be drawn, or which characters no font has. The list is empty if there is nothing
        to report.
    """
    try:
        matplotlib_module("figure")
    except ValueError as error:
        return [f"No plots were drawn. {error}"]
    folder = run.plots_path
    folder.mkdir(exist_ok=True)
    fonts = find_fonts(model.classes)
    notes = [f"Plots: {fonts.hint}"] if fonts.hint else []
    paths = []
    for name, draw in _drawings(run, model, confusion_counts, fonts).items():
        try:
            paths.append(draw(folder / f"{name}.png"))
        except ValueError as error:
            notes.append(f"{name}.png was not drawn. {error}")
    show_in_tensorboard(run.logs_path, paths)
    return notes


def _drawings(
    run: "RunFolder",
    model: "Tagger | Classifier",
    confusion_counts: "ArrayLike | None",
    fonts: Fonts,
) -> dict[str, Callable[[pathlib.Path], pathlib.Path]]:
    """Returns the functions that draw the plots of a run.

    The dict maps the name of each plot, such as `"transitions"`, to a function that writes the plot
    to a given path and returns this path.
    """
    names = model.classes
    history = run.logs_path / "history.jsonl"
    drawings: dict[str, Callable[[pathlib.Path], pathlib.Path]] = {}
    if history.exists():
        drawings["learning_curves"] = lambda path: save_figure(
            learning_curves_figure({"": history}), path
        )
    if confusion_counts is not None:
        drawings["confusion"] = functools.partial(
            plot_confusion_matrix, confusion_counts, names, fonts=fonts
        )
    scores = model.transition_scores()
    if scores is not None:
        figure = matrix_figure(
            scores.numpy(),
            names,
            names,
            x_label="to",
            y_label="from",
            title="transition scores",
            fonts=fonts,
        )
        drawings["transitions"] = functools.partial(save_figure, figure)
    for name, shares in model._mix_shares().items():
        drawings[name] = functools.partial(plot_mix_weights, shares.numpy())
    return drawings
