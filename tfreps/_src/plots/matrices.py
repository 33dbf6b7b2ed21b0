"""Draws matrices with named rows and columns, and the weights of scalar mixes."""

import os
import pathlib
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfreps._src.plots.canvas import new_figure, save_figure
from tfreps._src.plots.fonts import Fonts, find_fonts

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

MOST_CELLS = 30  # a confusion matrix with more names shows no counts
MOST_NAMES = 100  # limit per axis; an axis with more names shows numbers instead
ROOM = 0.22  # inches of the figure per name of a row or column
LETTER = 0.065  # inches of the figure per character of the longest cell
WITHOUT_NAMES = 8.0  # inches per side of a matrix without names
LIGHT = 0.65  # share of the color range above which the text in a cell is black
UPRIGHT = 2  # column names of at most this many characters are not rotated


def plot_confusion_matrix(
    counts: "ArrayLike",
    names: Sequence[str],
    path: str | os.PathLike[str],
    fonts: Fonts | None = None,
) -> pathlib.Path:
    """Draws how often each true name (row) was predicted as each name (column), as a PNG file.

    Colors show each count divided by the sum of its row, because names differ in frequency. If
    there are at most 30 names, the cells contain the counts. If there are more than 100 names, the
    axes show the positions of the names in `names` instead of the names.

    Args:
        counts: Integer array of shape `[K, K]`, as returned by
            `tfreps.reports.confusion_counts`.
        names: list of K str. The tags or labels.
        path: str or path-like. The PNG file to write.
        fonts: `Fonts` for the names. If `None`, suitable fonts are searched for, with a warning
            about characters that no font has. Defaults to `None`.

    Returns:
        `path` as a `pathlib.Path`.

    Raises:
        ValueError: If matplotlib is not installed.

    Example:
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/confusion.png"
    >>> plot_confusion_matrix([[2, 0], [1, 3]], ["a", "b"], path).name
    'confusion.png'
    """
    return save_figure(confusion_figure(counts, names, fonts), path)


def confusion_figure(
    counts: "ArrayLike", names: Sequence[str], fonts: Fonts | None = None
) -> "Figure":
    """Returns the figure that `plot_confusion_matrix` saves."""
    import numpy as np

    table = np.asarray(counts)
    return matrix_figure(
        table / np.maximum(table.sum(axis=1, keepdims=True), 1),
        names,
        names,
        x_label="predicted",
        y_label="true",
        title="share of each true row",
        cells=table if len(names) <= MOST_CELLS else None,
        limits=(0, 1),
        fonts=fonts,
    )


def matrix_figure(
    values: "ArrayLike",
    row_names: Sequence[str],
    column_names: Sequence[str],
    x_label: str = "",
    y_label: str = "",
    title: str = "",
    cells: "ArrayLike | None" = None,
    limits: tuple[float, float] | None = None,
    fonts: Fonts | None = None,
) -> "Figure":
    """Draws a matrix with named rows and columns, such as the transitions of a CRF.

    Args:
        values: Float array of shape `[R, C]`. NaN is drawn in white, for example for forbidden
            transitions.
        row_names: list of R str. The names of the rows. If there are more than 100, the axis shows
            numbers instead.
        column_names: list of C str. The names of the columns, as for rows.
        x_label: str. The label of the horizontal axis. Defaults to `""`.
        y_label: str. The label of the vertical axis. Defaults to `""`.
        title: str. The title of the figure. Defaults to `""`.
        cells: Array of shape `[R, C]` with the contents of the cells. If `None`, the cells are
            empty. Defaults to `None`.
        limits: Pair of the lowest and highest values of the color range. If `None`, it is the
            range of `values`. Defaults to `None`.
        fonts: `Fonts` for the names. If `None`, suitable fonts are searched for, with a warning
            about characters that no font has. Defaults to `None`.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If matplotlib is not installed.

    Example:
    >>> figure = matrix_figure([[1.0, 0.5]], ["from"], ["to", "fro"], title="scores")
    >>> figure.axes[0].get_title()
    'scores'
    """
    import numpy as np

    table = np.asarray(values)
    most = max(len(row_names), len(column_names))
    texts = [] if cells is None else [list(map(str, row)) for row in np.asarray(cells).tolist()]
    room = max(ROOM, LETTER * max((len(text) + 1 for row in texts for text in row), default=0))
    side = 2.5 + room * most if most <= MOST_NAMES else WITHOUT_NAMES
    figure = new_figure(side + 1, side)
    figure.set_layout_engine("compressed")  # this layout makes the cells square
    if fonts is None:
        fonts = find_fonts([*row_names, *column_names])
        if fonts.hint:
            warnings.warn(fonts.hint, stacklevel=2)
    axes = figure.subplots()
    low, high = limits or (None, None)
    image = axes.imshow(table, cmap="viridis", vmin=low, vmax=high)
    figure.colorbar(image, shrink=0.8, aspect=30)
    _name(axes.xaxis, column_names, fonts, turned=90)
    _name(axes.yaxis, row_names, fonts, turned=0)
    shades = np.asarray(image.norm(table))  # [R, C], in [0, 1]
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            color = "k" if shades[i, j] > LIGHT else "w"
            axes.text(j, i, text, ha="center", va="center", color=color, fontsize=7)
    axes.set(xlabel=x_label, ylabel=y_label, title=title)
    return figure


def plot_mix_weights(weights: "ArrayLike", path: str | os.PathLike[str]) -> pathlib.Path:
    """Draws the weights of the layers in a `ScalarMix` as a bar chart in a PNG file.

    Args:
        weights: Float array of shape `[L]`. The weights, which sum to 1; the token layer is first.
        path: str or path-like. The PNG file to write.

    Returns:
        `path` as a `pathlib.Path`.

    Raises:
        ValueError: If matplotlib is not installed.

    Example:
    >>> import tempfile
    >>> plot_mix_weights([0.2, 0.5, 0.3], tempfile.mkdtemp() + "/mix.png").name
    'mix.png'
    """
    return save_figure(mix_figure({"": weights}), path)


def mix_figure(weights: "Mapping[str, ArrayLike]") -> "Figure":
    """Draws the weights of one or more mixes as a bar chart, with a group of bars for each layer.

    `weights` maps the name of each mix, which the legend shows if there are several, to its array
    of shape `[L]`. The arrays need not have the same number of layers.
    """
    import numpy as np

    shares = {name: np.asarray(given) for name, given in weights.items()}
    most = max(map(len, shares.values()))
    width = 0.8 / len(shares)  # groups of bars take 0.8 of the space between two layers
    figure = new_figure(max(4, 1 + 0.25 * most * len(shares)), 3)
    axes = figure.subplots()
    for number, (name, values) in enumerate(shares.items()):
        offset = width * (number - (len(shares) - 1) / 2)
        axes.bar(np.arange(len(values)) + offset, values, width, label=name)
    axes.set_xticks(range(most))
    axes.set(xlabel="layer (0: token layer)", ylabel="share", title="scalar mix")
    if len(shares) > 1:
        figure.legend(loc="outside lower center", ncols=2, fontsize=8)
    return figure


def _name(axis: Any, names: Sequence[str], fonts: Fonts, turned: float) -> None:
    """Labels an axis with names, unless there are more than `MOST_NAMES` names.

    Without names, the axis shows numbers. Names that are longer than `UPRIGHT` characters are
    rotated by `turned` degrees.
    """
    if len(names) > MOST_NAMES:
        return
    drawn = [fonts.replace_missing(name) for name in names]
    # `parse_math=False` draws the character `$` unchanged.
    style = {"family": fonts.families, "fontsize": 8, "parse_math": False}
    for label, name in zip(axis.set_ticks(range(len(names)), drawn, **style), drawn, strict=True):
        if len(name) > UPRIGHT:
            label.label1.set_rotation(turned)
