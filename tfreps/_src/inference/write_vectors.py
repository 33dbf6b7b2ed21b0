"""write_vectors: writes one vector per text to a NumPy or HDF5 file."""

import contextlib
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import Any

import h5py
import numpy as np

from tfreps._src.files.atomic_files import replacing
from tfreps._src.files.disk_errors import check_space, naming

NAME = "vectors"  # name of the data set in an HDF5 file
SUFFIXES = ".npy", ".hdf5", ".h5"


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Raises a ValueError if the name of a file does not end in .npy, .hdf5 or .h5."""
    if pathlib.Path(path).suffix not in SUFFIXES:
        raise ValueError(
            f"The name of a file of vectors must end in {', '.join(SUFFIXES)}; got {path}."
        )


def write_vectors(
    path: str | os.PathLike[str], blocks: Iterable[np.ndarray], shape: tuple[int, int], dtype: str
) -> None:
    """Writes blocks of vectors, `[n, D]` each, to a new file atomically.

    A NumPy file contains one array of all vectors, of shape `[N, D]`. An HDF5 file contains the
    same array as the data set `vectors`. `shape` is `(N, D)`, and `dtype` is the data type in the
    file.
    """
    check_suffix(path)
    target = pathlib.Path(path)
    check_space(target, shape[0] * shape[1] * np.dtype(dtype).itemsize)
    with naming(target), replacing(target) as temporary:
        with _array(temporary, target.suffix, shape, dtype) as array:
            start = 0
            for block in blocks:
                array[start : start + len(block)] = block
                start += len(block)


@contextlib.contextmanager
def _array(path: pathlib.Path, suffix: str, shape: tuple[int, int], dtype: str) -> Iterator[Any]:
    if suffix == ".npy":
        array = np.lib.format.open_memmap(path, "w+", np.dtype(dtype), shape)
        yield array
        array.flush()
        return
    with h5py.File(path, "w") as file:
        yield file.create_dataset(NAME, shape, dtype)
