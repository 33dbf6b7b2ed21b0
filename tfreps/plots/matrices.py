"""Pictures of matrices with named rows and columns, and of the shares of layers."""

import os
import pathlib
import warnings

from tfreps.plots.canvas import new_figure, save_figure
from tfreps.plots.fonts import fonts_for

MOST_NAMES = 100  # of an axis; where there are more, it has numbers
ROOM = 0.22  # inches of a name
WITHOUT_NAMES = 8.0  # inches of a matrix without any
LIGHT = 0.65  # share of the colours from which on they need black letters
UPRIGHT = 2  # characters of a name that fits below a column without being turned


def confusion_matrix(counts, names: list[str], path: str | os.PathLike, fonts=None) -> pathlib.Path:
    """Draws how often each gold name (row) was answered with each name (column).

    Rows are shown as shares of their gold count, since names differ in frequency; the counts
    stand in the cells of small matrices.

    Args:
        counts: int, shape `[K, K]`.
        names: K tags or labels.
        path: the PNG file to write.
        fonts: `Fonts`, as of `matrix_figure`.
    """
    import numpy as np

    counts = np.asarray(counts)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    cells = counts if len(names) <= 12 else None
    texts = {"x": "answered", "y": "gold", "title": "share of each gold row"}
    return matrix(shares, names, names, path, cells=cells, limits=(0, 1), fonts=fonts, **texts)


def matrix(values, rows, columns, path, **options):
    """Draws a matrix as `matrix_figure` does, into a PNG file; returns its path."""
    return save_figure(matrix_figure(values, rows, columns, **options), path)


def matrix_figure(values, rows, columns, x="", y="", title="", cells=None, limits=None, fonts=None):
    """Draws a matrix as an image with named rows and columns; CRF transitions, for example.

    Args:
        values: float, shape `[R, C]`; NaN stays white (a forbidden transition).
        rows, columns: names.
        x, y, title: what the axes and the picture are called.
        cells: what is written into the cells, shape `[R, C]`; None for nothing.
        limits: the values of the two ends of the colours; None for those that occur.
        fonts: `Fonts` that have the characters of the names; None to look for them, and to warn
            of those that no font has.

    Returns:
        `matplotlib.figure.Figure`.

    Example:
    >>> figure = matrix_figure([[1.0, 0.5]], ["from"], ["to", "fro"], title="scores")
    >>> figure.axes[0].get_title()
    'scores'
    """
    most = max(len(rows), len(columns))
    side = 2.5 + ROOM * most if most <= MOST_NAMES else WITHOUT_NAMES
    figure = new_figure(side + 1, side)
    figure.set_layout_engine("compressed")  # rows and columns are as wide as high
    if fonts is None:
        fonts = fonts_for([*rows, *columns])
        if fonts.hint:
            warnings.warn(fonts.hint, stacklevel=2)
    axes = figure.subplots()
    low, high = limits or (None, None)
    image = axes.imshow(values, cmap="viridis", vmin=low, vmax=high)
    figure.colorbar(image, shrink=0.8, aspect=30)
    _name(axes.xaxis, columns, fonts, turned=90)
    _name(axes.yaxis, rows, fonts, turned=0)
    if cells is None:
        cells = []
    for i, row in enumerate(cells):
        for j, cell in enumerate(row):
            color = "k" if image.norm(values[i][j]) > LIGHT else "w"
            axes.text(j, i, str(cell), ha="center", va="center", color=color, fontsize=7)
    axes.set(xlabel=x, ylabel=y, title=title)
    return figure


def mix_weights(weights, path: str | os.PathLike) -> pathlib.Path:
    """Draws how much of each layer a `ScalarMix` takes.

    Args:
        weights: float, shape `[L]`, which sum to 1; the token layer first.
        path: the PNG file to write.
    """
    figure = new_figure(4, 3)
    axes = figure.subplots()
    axes.bar(range(len(weights)), weights)
    axes.set_xticks(range(len(weights)))
    axes.set(xlabel="layer (0: token layer)", ylabel="share", title="scalar mix")
    return save_figure(figure, path)


def _name(axis, names, fonts, turned):
    """Writes names along an axis, if it has room for them; no `$` in them begins a formula."""
    if len(names) > MOST_NAMES:
        return
    drawn = [fonts.drawn(name) for name in names]
    style = {"family": fonts.families, "fontsize": 8, "parse_math": False}
    for label, name in zip(axis.set_ticks(range(len(names)), drawn, **style), drawn, strict=True):
        if len(name) > UPRIGHT:
            label.label1.set_rotation(turned)
