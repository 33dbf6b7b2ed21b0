"""Pictures of a training run as PNG files and in TensorBoard; needs matplotlib (tfreps[plots])."""

import importlib
import json
import os
import pathlib

MOST_NAMES = 60  # names that an axis can show


def learning_curves(history: str | os.PathLike, path: str | os.PathLike) -> pathlib.Path:
    """Draws every figure of a run over its epochs, train and validation in one panel each.

    Args:
        history: the run's `history.jsonl`, as `EpochLog` writes it.
        path: the PNG file to write, whole or not at all.

    Returns:
        The path.

    Raises:
        ValueError: matplotlib is not installed, or the history holds no epoch.
    """
    lines = pathlib.Path(history).read_text(encoding="utf-8").splitlines()
    epochs = [line for line in map(json.loads, lines) if "epoch" in line]
    hidden = {"step", "epoch", "run"}
    names = list(dict.fromkeys(n for line in epochs for n in line if n not in hidden))
    names = [name for name in names if "/" not in name]
    if not names:
        raise ValueError(f"{history} holds no epoch whose figures could be drawn.")
    figure = _figure(4.5 * len(names), 3.5)
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        for run, style in (("train", "--"), ("validation", "-")):
            points = [(e["epoch"], e[name]) for e in epochs if e["run"] == run and name in e]
            if points:
                axes.plot(*zip(*points, strict=True), style, marker=".", label=run)
        axes.set(xlabel="epoch", title=name)
        axes.legend()
    return _save(figure, path)


def confusion_matrix(counts, names: list[str], path: str | os.PathLike) -> pathlib.Path:
    """Draws how often each gold name (row) was answered with each name (column).

    Rows are shown as shares of their gold count, since names differ in frequency; the counts
    stand in the cells of small matrices.

    Args:
        counts: int, shape `[K, K]`.
        names: K tags or labels.
        path: the PNG file to write.
    """
    import numpy as np

    counts = np.asarray(counts)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    cells = counts if len(names) <= 12 else None
    texts = {"x": "answered", "y": "gold", "title": "share of each gold row"}
    return matrix(shares, names, names, path, cells=cells, limits=(0, 1), **texts)


def matrix(values, rows, columns, path, x="", y="", title="", cells=None, limits=None):
    """Draws a matrix as an image with named rows and columns; CRF transitions, for example.

    Args:
        values: float, shape `[R, C]`; NaN stays white (a forbidden transition).
        rows, columns: names.
        path: the PNG file to write.
        x, y, title: what the axes and the picture are called.
        cells: what is written into the cells, shape `[R, C]`; None for nothing.
        limits: the values of the two ends of the colours; None for those that occur.
    """
    side = 2.5 + 0.22 * max(len(rows), len(columns))
    figure = _figure(side + 1, side)
    axes = figure.subplots()
    low, high = limits or (None, None)
    image = axes.imshow(values, cmap="viridis", vmin=low, vmax=high)
    figure.colorbar(image, shrink=0.8)
    for axis, names, turned in ((axes.xaxis, columns, 90), (axes.yaxis, rows, 0)):
        if len(names) <= MOST_NAMES:
            axis.set_ticks(range(len(names)), names, rotation=turned, fontsize=7)
    for i, row in enumerate([] if cells is None else cells):
        for j, cell in enumerate(row):
            axes.text(j, i, str(cell), ha="center", va="center", color="w", fontsize=7)
    axes.set(xlabel=x, ylabel=y, title=title)
    return _save(figure, path)


def mix_weights(weights, path: str | os.PathLike) -> pathlib.Path:
    """Draws how much of each layer a `ScalarMix` takes.

    Args:
        weights: float, shape `[L]`, which sum to 1; the token layer first.
        path: the PNG file to write.
    """
    figure = _figure(4, 3)
    axes = figure.subplots()
    axes.bar(range(len(weights)), weights)
    axes.set_xticks(range(len(weights)))
    axes.set(xlabel="layer (0: token layer)", ylabel="share", title="scalar mix")
    return _save(figure, path)


def draw_run(run, model, confusion=None) -> None:
    """Draws what a run of a tagger or classifier shows, in its folder and in TensorBoard.

    `learning_curves.png`; with counts `confusion.png`; of a CRF `transitions.png`, where
    forbidden ones stay white; and `elmo_mix.png`, `vector_mix.png` of learned mixes of layers.
    Without matplotlib there are none, which is said in a line.

    Args:
        run: `tfreps.run_folder.RunFolder`.
        model: `Tagger` or `Classifier`.
        confusion: counts `[K, K]`, as `confusion_matrix` takes them; None for none.
    """
    folder = run.pictures_path
    folder.mkdir(exist_ok=True)
    names = model.tags if hasattr(model, "tags") else model.labels
    try:
        pictures = [
            learning_curves(run.logs_path / "history.jsonl", folder / "learning_curves.png")
        ]
        if confusion is not None:
            pictures.append(confusion_matrix(confusion, names, folder / "confusion.png"))
        if getattr(model, "use_crf", False):
            texts = {"x": "to", "y": "from", "title": "transition scores"}
            scores = _transitions(model.crf)
            pictures.append(matrix(scores, names, names, folder / "transitions.png", **texts))
        for name, shares in _mixes(model).items():
            pictures.append(mix_weights(shares, folder / f"{name}.png"))
    except ValueError as error:
        print(f"No pictures: {error}")
        return
    show_in_tensorboard(run.logs_path, pictures)


def show_in_tensorboard(logs: str | os.PathLike, pictures: list, step: int = 0) -> None:
    """Puts PNG files into the event files of a run, each under the name of its file.

    Args:
        logs: the run's folder of logs.
        pictures: paths of the PNG files.
        step: int. Step at which they are shown.
    """
    import tensorflow as tf

    writer = tf.summary.create_file_writer(str(pathlib.Path(logs) / "pictures"))
    with writer.as_default():
        for path in map(pathlib.Path, pictures):
            image = tf.io.decode_png(path.read_bytes(), channels=4)[None]  # [1, H, W, 4]
            tf.summary.image(path.stem, image, step)
    writer.close()


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


def _figure(width, height):
    """An empty figure, without the windows and the global state of pyplot."""
    try:
        module = importlib.import_module("matplotlib.figure")
    except ImportError as error:
        message = "Pictures need matplotlib: pip install 'tfreps[plots]'."
        raise ValueError(message) from error
    return module.Figure(figsize=(width, height), layout="constrained")


def _save(figure, path):
    path = pathlib.Path(path)
    temporary = path.with_name(path.name + ".tmp")
    try:
        figure.savefig(temporary, format="png", dpi=110)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
