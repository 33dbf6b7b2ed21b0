"""Draws the plots of a training run of a tagger or classifier."""

import functools

from tfreps._src.plots.canvas import matplotlib_module, save_figure, show_in_tensorboard
from tfreps._src.plots.curves import learning_curves_figure
from tfreps._src.plots.fonts import fonts_for
from tfreps._src.plots.matrices import matrix_figure, plot_confusion_matrix, plot_mix_weights


def plot_run(run, model, confusion=None) -> list[str]:
    """Writes the plots of a training run to its folder and to TensorBoard.

    The plots are `learning_curves.png` if there is a history, `confusion.png` if `confusion` is
    given, `transitions.png` for a CRF (with forbidden transitions in white), and `elmo_mix.png` and
    `vector_mix.png` for learned mixes of layers. Without matplotlib, no plots are drawn.

    Args:
        run: `tfreps.runs.RunFolder`.
        model: `Tagger` or `Classifier`.
        confusion: Integer array of shape `[K, K]`: how often each true class (row) was predicted as
            each class (column). If `None`, `confusion.png` is not drawn. Defaults to `None`.

    Returns:
        A list of messages (str) for the user. They explain why there are no plots, why a plot
        could not be drawn, or which characters no font has. The list is empty if there is nothing
        to report.
    """
    try:
        matplotlib_module("figure")
    except ValueError as error:
        return [f"No pictures were drawn. {error}"]
    folder = run.pictures_path
    folder.mkdir(exist_ok=True)
    fonts = fonts_for(model.classes)
    notes = [f"Pictures: {fonts.hint}"] if fonts.hint else []
    pictures = []
    for name, draw in _drawings(run, model, confusion, fonts).items():
        try:
            pictures.append(draw(folder / f"{name}.png"))
        except ValueError as error:
            notes.append(f"{name}.png was not drawn. {error}")
    show_in_tensorboard(run.logs_path, pictures)
    return notes


def _drawings(run, model, confusion, fonts):
    """Returns a dict from the name of each plot to a function that writes it to a path."""
    names = model.classes
    history = run.logs_path / "history.jsonl"
    drawings = {}
    if history.exists():
        drawings["learning_curves"] = lambda path: save_figure(
            learning_curves_figure({"": history}), path
        )
    if confusion is not None:
        drawings["confusion"] = functools.partial(
            plot_confusion_matrix, confusion, names, fonts=fonts
        )
    scores = model.transition_scores()
    if scores is not None:
        texts = {"x": "to", "y": "from", "title": "transition scores", "fonts": fonts}
        drawings["transitions"] = lambda path: save_figure(
            matrix_figure(scores.numpy(), names, names, **texts), path
        )
    for name, shares in model._mix_shares().items():
        drawings[name] = functools.partial(plot_mix_weights, shares.numpy())
    return drawings
