"""Pictures of what a run of a tagger or classifier shows, in its folder and in TensorBoard."""

from tfreps.plots.canvas import show_in_tensorboard
from tfreps.plots.curves import learning_curves
from tfreps.plots.fonts import fonts_for
from tfreps.plots.matrices import confusion_matrix, matrix, mix_weights


def draw_run(run, model, confusion=None) -> None:
    """Draws what a run of a tagger or classifier shows, in its folder and in TensorBoard.

    `learning_curves.png`, unless training ended before the first figure; with counts
    `confusion.png`; of a CRF `transitions.png`, where
    forbidden ones stay white; and `elmo_mix.png`, `vector_mix.png` of learned mixes of layers.
    Without matplotlib there are none, which is said in a line.

    Args:
        run: `tfreps.runs.run_folder.RunFolder`.
        model: `Tagger` or `Classifier`.
        confusion: counts `[K, K]`, as `confusion_matrix` takes them; None for none.
    """
    folder = run.pictures_path
    folder.mkdir(exist_ok=True)
    names = model.classes
    history = run.logs_path / "history.jsonl"
    pictures = []
    try:
        if history.exists():
            pictures.append(learning_curves(history, folder / "learning_curves.png"))
        fonts = fonts_for(names)
        if fonts.hint:
            print(f"Pictures: {fonts.hint}")
        if confusion is not None:
            pictures.append(confusion_matrix(confusion, names, folder / "confusion.png", fonts))
        scores = model.transition_scores()
        if scores is not None:
            texts = {"x": "to", "y": "from", "title": "transition scores", "fonts": fonts}
            pictures.append(
                matrix(scores.numpy(), names, names, folder / "transitions.png", **texts)
            )
        for name, shares in model.mix_shares().items():
            pictures.append(mix_weights(shares.numpy(), folder / f"{name}.png"))
    except ValueError as error:
        print(f"No pictures: {error}")
        return
    show_in_tensorboard(run.logs_path, pictures)
