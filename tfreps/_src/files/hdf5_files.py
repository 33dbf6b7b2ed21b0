"""Reads arrays from untrusted HDF5 files after checking their sizes."""

import contextlib
import math
import os
from collections.abc import Iterator

import h5py
import numpy as np

# Highest compression ratio of gzip, the usual filter of HDF5.
LARGEST_RATIO = 1032
LARGEST_BLOCK = 2**24  # a chunk of at most this many bytes may be larger than its array


def open_hdf5(path: str | os.PathLike[str], what: str = "an HDF5 file") -> h5py.File:
    """Returns an HDF5 file, opened for reading; errors describe the expected file as `what`."""
    if not os.path.isfile(path):
        raise ValueError(f"{path}: expected {what}; the file does not exist. Check the path.")
    try:
        return h5py.File(path, "r")
    except Exception as error:
        raise ValueError(
            f"{path}: expected {what}; the file cannot be read ({error}). It may be "
            "truncated: compare its size with that of the original."
        ) from error


def array_shapes(file: h5py.File) -> dict[str, tuple[int, ...]]:
    """Returns a dict from the name of each array in a file to the shape of the array.

    Links to other objects or files are left out.
    """
    shapes: dict[str, tuple[int, ...]] = {}

    def note(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            shapes[name] = item.shape or ()

    with naming_damage(file.filename, "its list of arrays"):
        file.visititems(note)
    return shapes


def find_array(file: h5py.File, name: str) -> h5py.Dataset:
    """Finds an array of numbers in an HDF5 file, and checks its sizes before it is read.

    Returns:
        `h5py.Dataset`. The array, whose values are not read.

    Raises:
        ValueError: If there is no such array, or if the sizes that the file states for the array
            contradict each other or the size of the file.
    """
    path = file.filename
    with naming_damage(path, f"array {name}"):
        link = file.get(name, getlink=True)
        found = file[name] if isinstance(link, h5py.HardLink) else None
        if found is None or not isinstance(found, h5py.Dataset):
            reason = "there is no such array in the file"
        elif found.external or found.is_virtual:
            reason = "its values are stored in another file, which is not supported"
        elif found.shape is None:
            reason = "it has no shape"
        elif found.dtype.kind not in "fiu":
            reason = f"it must contain numbers; got {found.dtype}"
        else:
            reason = _size_error(found, os.path.getsize(path))
            if reason is None:
                return found
    raise ValueError(
        f"{path}: array {name} cannot be read ({reason}). The file may be truncated or "
        "damaged: compare its size with that of the original."
    )


def read_array(file: h5py.File, name: str) -> np.ndarray:
    """Returns the values of an array of numbers that `find_array` accepts."""
    found = find_array(file, name)
    with naming_damage(file.filename, f"array {name}"):
        return found[...]


@contextlib.contextmanager
def naming_damage(path: str | os.PathLike[str], what: str) -> Iterator[None]:
    """Context manager that replaces any error of its block with a ValueError about the file `path`.

    The message says that `what`, such as `"array lstm"`, cannot be read and may be damaged.
    """
    try:
        yield
    except Exception as error:  # h5py raises OSError, RuntimeError, KeyError, TypeError and others
        reason = error.args[0] if error.args else type(error).__name__
        raise ValueError(
            f"{path}: {what} cannot be read ({reason}). The file may be truncated or damaged: "
            "compare its size with that of the original."
        ) from error


def _size_error(found: h5py.Dataset, file_size: int) -> str | None:
    """Describes the contradiction between the stated sizes of an array and the size of its file.

    Returns a str for an error message, or `None` if there is no contradiction.
    """
    stored = found.id.get_storage_size()
    packed = found.id.get_create_plist().get_nfilters()
    claimed = math.prod(found.shape) * found.dtype.itemsize
    # Bytes of one chunk, because h5py decompresses whole chunks.
    block = math.prod(found.chunks or ()) * found.dtype.itemsize
    if stored > file_size:
        return f"it claims {stored:,} bytes in a file of {file_size:,} bytes"
    if claimed > stored * (LARGEST_RATIO if packed else 1):
        return f"it claims {claimed:,} bytes, of which {stored:,} are stored"
    if block > max(claimed, LARGEST_BLOCK):
        return f"its chunks have {block:,} bytes, more than the array"
    return None
