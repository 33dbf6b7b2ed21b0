"""Pictures of position vectors: heat map, curves, and the surface of their products."""

from tfreps.plots.canvas import new_figure

VIEWS = ("map", "curves", "surface")
MOST_LINES = 200  # of a surface, in either direction: of more positions some are left out


def position_map(table, title=""):
    """Draws a table of position vectors as a heat map.

    Args:
        table: float, shape `[P, D]`: a learned table, or what
            `tfreps.layers.position_embedding.sinusoids` returns.
        title: str. What the picture is called.

    Returns:
        `matplotlib.figure.Figure`.

    Reference: aespresso/a_journey_into_math_of_ml, "transformer_1.ipynb".

    Example:
    >>> from tfreps.layers.position_embedding import sinusoids
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
    """Draws some dimensions of position vectors over the positions.

    Args:
        table: float, shape `[P, D]`.
        dimensions: ints below D, counted from 0.
        title: str. What the picture is called.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: no such dimension.

    Reference: aespresso/a_journey_into_math_of_ml, "transformer_1.ipynb".

    Example:
    >>> from tfreps.layers.position_embedding import sinusoids
    >>> len(position_curves(sinusoids(100, 16), [4, 5]).axes[0].lines)
    2
    """
    table = _checked(table)
    wrong = [d for d in dimensions if not 0 <= d < table.shape[1]]
    if wrong or not len(dimensions):
        raise ValueError(
            f"Dimensions are counted from 0 to {table.shape[1] - 1}; got {wrong or 'none'}."
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
    """Draws how alike the vectors of two positions are: `table @ table^T`, as a surface.

    Args:
        table: float, shape `[P, D]`, at least two positions from `first` on.
        title: str. What the picture is called.
        first: int. The position to begin with; 1 leaves out the zeros that aespresso have at
            position 0, as their picture does.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: fewer than two positions.

    Reference: aespresso/a_journey_into_math_of_ml, "transformer_2_tutorial.ipynb".

    Example:
    >>> from tfreps.layers.position_embedding import sinusoids
    >>> position_surface(sinusoids(100, 128)).axes[0].name
    '3d'
    """
    import numpy as np

    table = _checked(table)[first:]
    if len(table) < 2:
        raise ValueError(f"A surface needs two positions at least; got {len(table)}.")
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
    """The table as float64 `[P, D]`."""
    import numpy as np

    table = np.asarray(table, "float64")
    if table.ndim != 2 or not table.size:
        raise ValueError(f"Expected a table [positions, dimensions]; got the shape {table.shape}.")
    return table
