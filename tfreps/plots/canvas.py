"""Figures of matplotlib, as PNG files and as images in TensorBoard."""

import importlib
import io
import os
import pathlib

from tfreps.files.atomic_files import replacing


def new_figure(width, height):
    """An empty figure, without the windows and the global state of pyplot.

    Args:
        width, height: float, in inches.

    Returns:
        `matplotlib.figure.Figure`.

    Raises:
        ValueError: matplotlib is not installed.
    """
    module = matplotlib_module("figure")
    return module.Figure(figsize=(width, height), layout="constrained")


def save_figure(figure, path: str | os.PathLike) -> pathlib.Path:
    """Writes a figure as a PNG file, whole or not at all; returns the path.

    Args:
        figure: `matplotlib.figure.Figure`.
        path: the file.

    Example:
    >>> import tempfile
    >>> save_figure(new_figure(3, 2), tempfile.mkdtemp() + "/empty.png").name
    'empty.png'
    """
    with replacing(path) as temporary:
        temporary.write_bytes(png_of(figure))
    return pathlib.Path(path)


def png_of(figure) -> bytes:
    """A figure as the bytes of a PNG file."""
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=110)
    return file.getvalue()


def show_in_tensorboard(logs: str | os.PathLike, pictures, step: int = 0) -> None:
    """Puts pictures into the event files of a run, as images.

    Args:
        logs: the run's folder of logs.
        pictures: paths of PNG files, each shown under the name of its file; or a dict of figures
            by name.
        step: int. Step at which they are shown.
    """
    import tensorflow as tf

    if isinstance(pictures, dict):
        images = {name: png_of(figure) for name, figure in pictures.items()}
    else:
        images = {path.stem: path.read_bytes() for path in map(pathlib.Path, pictures)}
    writer = tf.summary.create_file_writer(str(pathlib.Path(logs) / "pictures"))
    with writer.as_default():
        for name, image in images.items():
            tf.summary.image(name, tf.io.decode_png(image, channels=4)[None], step)  # [1, H, W, 4]
    writer.close()


def matplotlib_module(name: str):
    """A module of matplotlib, imported when needed; without it a ValueError says how to get it."""
    try:
        return importlib.import_module(f"matplotlib.{name}")
    except ImportError as error:
        raise ValueError("Pictures need matplotlib: pip install 'tfreps[plots]'.") from error
