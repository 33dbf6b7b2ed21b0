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
    names = model.tags if hasattr(model, "tags") else model.labels
    history, pictures = run.logs_path / "history.jsonl", []
    try:
        if history.exists():
            pictures.append(learning_curves(history, folder / "learning_curves.png"))
        fonts = fonts_for(names)
        if fonts.hint:
            print(f"Pictures: {fonts.hint}")
        if confusion is not None:
            pictures.append(confusion_matrix(confusion, names, folder / "confusion.png", fonts))
        if getattr(model, "use_crf", False):
            texts = {"x": "to", "y": "from", "title": "transition scores", "fonts": fonts}
            scores = _transitions(model.crf)
            pictures.append(matrix(scores, names, names, folder / "transitions.png", **texts))
        for name, shares in _mixes(model).items():
            pictures.append(mix_weights(shares, folder / f"{name}.png"))
    except ValueError as error:
        print(f"No pictures: {error}")
        return
    show_in_tensorboard(run.logs_path, pictures)


def _transitions(crf):
    """The scores of a CRF, NaN where they are forbidden: `[K, K]`."""
    import numpy as np

    scores = np.array(crf.transitions)
    if crf.allowed_transitions is not None:
        allowed = np.array(crf.allowed_transitions, bool)
        scores[~allowed[: crf.num_tags, : crf.num_tags]] = np.nan
    return scores


def _mixes(model):
    """Name -> the shares of the layers, of each learned mix of the model."""
    import numpy as np

    embedder = getattr(model.encoder, "embedder", model.encoder)
    elmo = getattr(embedder, "elmo", None)
    mixes = {
        "elmo_mix": None if elmo is None else elmo.mixes[0],
        "vector_mix": getattr(embedder, "vector_mix", None),
    }
    learned = {name: mix for name, mix in mixes.items() if mix is not None and not mix.top_only}
    weights = {name: np.exp(np.array(mix.scalar_weights)) for name, mix in learned.items()}
    return {name: exponentials / exponentials.sum() for name, exponentials in weights.items()}
