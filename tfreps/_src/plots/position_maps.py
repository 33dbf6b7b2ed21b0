"""Draws position vectors as a heat map, as curves or as a surface of their dot products."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.plots.canvas import new_figure

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

VIEWS = ("map", "curves", "surface")
MOST_LINES = 200  # maximum number of positions that are drawn per axis of a surface


def position_map_figure(table: "ArrayLike", title: str = "") -> "Figure":
    """Draws a table of position vectors as a heat map.

    Args:
        table: Float array of shape `[P, D]`, with a vector for each position: a learned table, or
            the output of a sinusoidal `PositionEmbedding` for zeros.
        title: str. The title of the figure. Defaults to `""`.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If the table is empty or has the wrong shape, or if matplotlib is not installed.

    Reference: aespresso/a_journey_into_math_of_ml, "transformer_1.ipynb".

    Example:
    >>> import tensorflow as tf
    >>> from tfreps.layers import PositionEmbedding
    >>> table = PositionEmbedding("sinusoidal")(tf.zeros([1, 100, 16]))[0]
    >>> position_map_figure(table).axes[0].get_ylabel()
    'position'
    """
    vectors = _checked(table)
    figure = new_figure(7, 5)
    axes = figure.subplots()
    bound = float(abs(vectors).max()) or 1.0
    image = axes.imshow(vectors, cmap="RdBu_r", vmin=-bound, vmax=bound, aspect="auto")
    image.set_interpolation("nearest")
    figure.colorbar(image, shrink=0.8)
    axes.set(xlabel="dimension", ylabel="position", title=title)
    return figure


def position_curves_figure(
    table: "ArrayLike", dimensions: Sequence[int] = (1, 2, 3), title: str = ""
) -> "Figure":
    """Draws selected dimensions of position vectors as curves over the positions.

    Args:
        table: Float array of shape `[P, D]`, with a vector for each position.
        dimensions: list of int. The dimensions to draw, counted from 0. Defaults to `(1, 2, 3)`.
        title: str. The title of the figure. Defaults to `""`.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If a dimension does not exist, if `dimensions` is empty, if the table is empty
            or has the wrong shape, or if matplotlib is not installed.

    Reference: aespresso/a_journey_into_math_of_ml, "transformer_1.ipynb".

    Example:
    >>> import numpy as np
    >>> len(position_curves_figure(np.eye(16), [4, 5]).axes[0].lines)
    2
    """
    vectors = _checked(table)
    wrong = [d for d in dimensions if not 0 <= d < vectors.shape[1]]
    if wrong or not len(dimensions):
        raise ValueError(
            f"`dimensions` must be one or more numbers in [0, {vectors.shape[1] - 1}]; got "
            f"{wrong or 'none'}."
        )
    figure = new_figure(7, 4)
    axes = figure.subplots()
    marker = "." if len(vectors) <= 100 else ""
    for dimension in dimensions:
        axes.plot(vectors[:, dimension], marker=marker, label=f"dimension {dimension}")
    axes.set(xlabel="position", title=title)
    figure.legend(loc="outside right upper")
    return figure


def position_surface_figure(table: "ArrayLike", title: str = "", first: int = 0) -> "Figure":
    """Draws the dot products of pairs of position vectors as a surface.

        products = table @ table^T

    If there are more than 200 positions, at most 200 evenly spaced ones are drawn.

    Args:
        table: Float array of shape `[P, D]`, with a vector for each position.
        title: str. The title of the figure. Defaults to `""`.
        first: int. The first position to draw. Use 1 to leave out position 0, which is a zero
            vector in the reference implementation. Defaults to 0.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If `first` is negative, if there are fewer than two positions from `first` on,
            if the table is empty or has the wrong shape, or if matplotlib is not installed.

    Reference: aespresso/a_journey_into_math_of_ml, "transformer_2_tutorial.ipynb".

    Example:
    >>> import numpy as np
    >>> position_surface_figure(np.eye(16)).axes[0].name
    '3d'
    """
    import numpy as np

    check_integers(0, first=first)
    vectors = _checked(table)[first:]
    if len(vectors) < 2:
        raise ValueError(
            f"`table` must have at least two positions from `first` ({first}) on; got "
            f"{len(vectors)}."
        )
    products = vectors @ vectors.T  # [P, P]
    positions = np.arange(first, first + len(vectors))
    columns, rows = np.meshgrid(positions, positions)
    figure = new_figure(7, 6)
    axes = figure.add_subplot(projection="3d")
    surface = axes.plot_surface(
        columns,
        rows,
        products,
        cmap="viridis",
        vmin=products.min(),
        vmax=products.max(),
        rcount=MOST_LINES,
        ccount=MOST_LINES,
        linewidth=0,
        antialiased=False,
    )
    figure.colorbar(surface, shrink=0.6, pad=0.1)
    axes.view_init(elev=35, azim=-60)
    axes.set(xlabel="position", ylabel="position", zlabel="dot product", title=title)
    return figure


def _checked(table: "ArrayLike") -> "np.ndarray":
    """Returns the table as a float64 array `[P, D]`, after checking its shape."""
    import numpy as np

    vectors = np.asarray(table, "float64")
    if vectors.ndim != 2 or not vectors.size:
        raise ValueError(
            "`table` must have the shape [positions, dimensions] and must not be empty; got the "
            f"shape {vectors.shape}."
        )
    return vectors
