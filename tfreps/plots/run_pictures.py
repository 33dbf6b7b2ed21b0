"""Draws the plots for a training run of a tagger or classifier."""

from tfreps.plots.canvas import show_in_tensorboard
from tfreps.plots.curves import learning_curves
from tfreps.plots.fonts import fonts_for
from tfreps.plots.matrices import confusion_matrix, matrix, mix_weights


def draw_run(run, model, confusion=None) -> list[str]:
    """Writes the plots for a training run to its folder and to TensorBoard.

    These are `learning_curves.png` if there is a history, `confusion.png` if `confusion` is given,
    `transitions.png` for a CRF (with forbidden transitions in white), and `elmo_mix.png` and
    `vector_mix.png` for learned mixes of layers. Without matplotlib, no plots are drawn.

    Args:
        run: `tfreps.runs.run_folder.RunFolder`.
        model: `Tagger` or `Classifier`.
        confusion: Integer array of shape `[K, K]`: how often each true class (row) was predicted as
            each class (column). If `None`, `confusion.png` is not drawn. Defaults to `None`.

    Returns:
        A list of messages (str) for the user: why there are no plots, or which characters no
        font has. It is empty if there is nothing to report.
    """
    folder = run.pictures_path
    folder.mkdir(exist_ok=True)
    notes = []
    try:
        pictures = _draw(run, model, confusion, folder, notes)
    except ValueError as error:
        return [*notes, f"No pictures were drawn. {error}"]
    show_in_tensorboard(run.logs_path, pictures)
    return notes


def _draw(run, model, confusion, folder, notes):
    """Draws the plots and returns their paths. Adds messages to `notes`."""
    names = model.classes
    history = run.logs_path / "history.jsonl"
    pictures = []
    if history.exists():
        pictures.append(learning_curves(history, folder / "learning_curves.png"))
    fonts = fonts_for(names)
    if fonts.hint:
        notes.append(f"Pictures: {fonts.hint}")
    if confusion is not None:
        pictures.append(confusion_matrix(confusion, names, folder / "confusion.png", fonts))
    scores = model.transition_scores()
    if scores is not None:
        texts = {"x": "to", "y": "from", "title": "transition scores", "fonts": fonts}
        pictures.append(matrix(scores.numpy(), names, names, folder / "transitions.png", **texts))
    for name, shares in model.mix_shares().items():
        pictures.append(mix_weights(shares.numpy(), folder / f"{name}.png"))
    return pictures
