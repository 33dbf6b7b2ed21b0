"""Creates Matplotlib figures and saves them as PNG files or TensorBoard images."""

import importlib
import io
import os
import pathlib
import types
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tfreps._src.files.atomic_files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float) -> "Figure":
    """Creates an empty figure without using the windows or the global state of pyplot.

    Args:
        width: float. The width in inches.
        height: float. The height in inches.

    Returns:
        A `matplotlib.figure.Figure`.

    Raises:
        ValueError: If matplotlib is not installed.

    Example:
    >>> new_figure(3, 2).get_size_inches().tolist()
    [3.0, 2.0]
    """
    module = matplotlib_module("figure")
    return module.Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: "Figure", path: str | os.PathLike[str]) -> pathlib.Path:
    """Writes a figure to a PNG file atomically.

    Args:
        figure: `matplotlib.figure.Figure`.
        path: str or path-like. The file to write.

    Returns:
        `path` as a `pathlib.Path`.

    Example:
    >>> import tempfile
    >>> save_figure(new_figure(3, 2), tempfile.mkdtemp() + "/empty.png").name
    'empty.png'
    """
    with replacing(path) as temporary:
        temporary.write_bytes(figure_to_png(figure))
    return pathlib.Path(path)


def figure_to_png(figure: "Figure") -> bytes:
    """Returns a figure as the bytes of a PNG file, at 110 dots per inch.

    Args:
        figure: `matplotlib.figure.Figure`.

    Returns:
        bytes. The contents of the PNG file.

    Example:
    >>> figure_to_png(new_figure(3, 2))[1:4]
    b'PNG'
    """
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110)
    return file.getvalue()


def show_in_tensorboard(
    folder: str | os.PathLike[str],
    figures: Iterable[str | os.PathLike[str]] | Mapping[str, "Figure"],
    step: int = 0,
) -> None:
    """Writes figures to the event files of a run as TensorBoard images.

    Args:
        folder: str or path-like. The folder with the logs of the run.
        figures: Paths of PNG files, or a dict from names to figures. An image from a file gets the
            name of the file without its suffix.
        step: int. The training step of the images. Defaults to 0.
    """
    import tensorflow as tf

    if isinstance(figures, Mapping):
        images = {name: figure_to_png(figure) for name, figure in figures.items()}
    else:
        images = {path.stem: path.read_bytes() for path in map(pathlib.Path, figures)}
    writer = tf.summary.create_file_writer(str(pathlib.Path(folder) / "plots"))
    with writer.as_default():
        for name, image in images.items():
            tf.summary.image(name, tf.io.decode_png(image, channels=4)[None], step)  # [1, H, W, 4]
    writer.close()


def matplotlib_module(name: str) -> types.ModuleType:
    """Returns a module of matplotlib; raises a ValueError if matplotlib is not installed."""
    try:
        return importlib.import_module(f"matplotlib.{name}")
    except ImportError as error:
        raise ValueError(
            "Plots require matplotlib. Install it with `pip install matplotlib`."
        ) from error
