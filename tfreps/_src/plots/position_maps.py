"""Draws position vectors as a heat map, as curves or as a surface of their products."""

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.plots.canvas import new_figure

VIEWS = ("map", "curves", "surface")
MOST_LINES = 200  # per direction of a surface; if there are more positions, some are left out


def position_map(table, title=""):
    """Draws a table of position vectors as a heat map.

    Args:
        table: Float array of shape `[P, D]`, with a vector for each position: a learned table, or
            the result of `layers.position_embedding.sinusoids`.
        title: str. The title of the figure. Defaults to `""`.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If the table is empty or has the wrong shape, or if matplotlib is not installed.

    Reference: aespresso/a_journey_into_math_of_ml, "transformer_1.ipynb".

    Example:
    >>> from tfreps._src.layers.position_embedding import sinusoids
    >>> position_map(sinusoids(100, 16)).axes[0].get_ylabel()
    'position'
    """
    table = _checked(table)
    figure = new_figure(7, 5)
    axes = figure.subplots()
    bound = float(abs(table).max()) or 1.0
    image = axes.imshow(table, cmap="RdBu_r", vmin=-bound, vmax=bound, aspect="auto")
    image.set_interpolation("nearest")
    figure.colorbar(image, shrink=0.8)
    axes.set(xlabel="dimension", ylabel="position", title=title)
    return figure


def position_curves(table, dimensions=(1, 2, 3), title=""):
    """Draws selected dimensions of position vectors as curves over the positions.

    Args:
        table: Float array of shape `[P, D]`, with a vector for each position.
        dimensions: List of int. The dimensions to draw, counted from 0. Defaults to `(1, 2, 3)`.
        title: str. The title of the figure. Defaults to `""`.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If a dimension does not exist, if `dimensions` is empty, if the table is empty
            or has the wrong shape, or if matplotlib is not installed.

    Reference: aespresso/a_journey_into_math_of_ml, "transformer_1.ipynb".

    Example:
    >>> from tfreps._src.layers.position_embedding import sinusoids
    >>> len(position_curves(sinusoids(100, 16), [4, 5]).axes[0].lines)
    2
    """
    table = _checked(table)
    wrong = [d for d in dimensions if not 0 <= d < table.shape[1]]
    if wrong or not len(dimensions):
        raise ValueError(
            f"`dimensions` must be one or more numbers in [0, {table.shape[1] - 1}]; got "
            f"{wrong or 'none'}."
        )
    figure = new_figure(7, 4)
    axes = figure.subplots()
    marker = "." if len(table) <= 100 else ""
    for dimension in dimensions:
        axes.plot(table[:, dimension], marker=marker, label=f"dimension {dimension}")
    axes.set(xlabel="position", title=title)
    figure.legend(loc="outside right upper")
    return figure


def position_surface(table, title="", first=0):
    """Draws the dot products of all pairs of position vectors as a surface.

        products = table @ table^T

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
    >>> from tfreps._src.layers.position_embedding import sinusoids
    >>> position_surface(sinusoids(100, 128)).axes[0].name
    '3d'
    """
    import numpy as np

    check_integers(0, first=first)
    table = _checked(table)[first:]
    if len(table) < 2:
        raise ValueError(
            f"`table` must have at least two positions from `first` ({first}) on; got {len(table)}."
        )
    products = table @ table.T  # [P, P]
    places = np.arange(first, first + len(table))
    columns, rows = np.meshgrid(places, places)
    figure = new_figure(7, 6)
    axes = figure.add_subplot(projection="3d")
    lines = {"rcount": MOST_LINES, "ccount": MOST_LINES, "linewidth": 0, "antialiased": False}
    limits = {"vmin": products.min(), "vmax": products.max()}
    surface = axes.plot_surface(columns, rows, products, cmap="viridis", **limits, **lines)
    figure.colorbar(surface, shrink=0.6, pad=0.1)
    axes.view_init(elev=35, azim=-60)
    axes.set(xlabel="position", ylabel="position", zlabel="product", title=title)
    return figure


def _checked(table):
    """Returns the table as a float64 array `[P, D]`, after checking its shape."""
    import numpy as np

    table = np.asarray(table, "float64")
    if table.ndim != 2 or not table.size:
        raise ValueError(
            "`table` must have the shape [positions, dimensions] and must not be empty; got the "
            f"shape {table.shape}."
        )
    return table
