"""Reads arrays from untrusted HDF5 files after checking their sizes."""

import contextlib
import math
import os
import struct
from collections.abc import Iterator
from typing import BinaryIO

import h5py
import numpy as np

# Highest compression ratio of gzip, the usual filter of HDF5.
LARGEST_RATIO = 1032
LARGEST_BLOCK = 2**24  # bytes; chunks up to this size may be larger than their array


def open_hdf5(path: str | os.PathLike, what: str = "an HDF5 file") -> h5py.File:
    """Opens an HDF5 file for reading.

    Args:
        path: str or path-like object. Path of the file.
        what: str. Description of the expected file for error messages. Defaults to
            `"an HDF5 file"`.

    Raises:
        ValueError: If the file does not exist, is damaged or is not an HDF5 file.
    """
    if not os.path.isfile(path):
        raise ValueError(f"{path}: expected {what}; the file does not exist.")
    try:
        return h5py.File(path, "r")
    except Exception as error:
        raise ValueError(
            f"{path}: expected {what}; the file cannot be read ({error}). It may be "
            "truncated: compare its size with that of the original."
        ) from error


def array_shapes(file: h5py.File) -> dict[str, tuple[int, ...]]:
    """Returns a dict from the name of each array in a file to its shape.

    Soft and external links are left out.

    Raises:
        ValueError: If the file is damaged.
    """
    shapes = {}

    def note(name, item):
        if isinstance(item, h5py.Dataset):
            shapes[name] = item.shape or ()

    with naming_damage(file.filename, "its list of arrays"):
        file.visititems(note)
    return shapes


def find_array(file: h5py.File, name: str, is_text: bool = False) -> h5py.Dataset:
    """Returns an array in a file without reading its values.

    Args:
        file: `h5py.File`. A file opened by `open_hdf5`.
        name: str. Name of the array.
        is_text: bool. Whether the array must contain strings instead of numbers. Defaults to
            `False`.

    Raises:
        ValueError: If the array does not exist, is stored in another file, has no shape or the
            wrong type, or has sizes that contradict those of its data.
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
        elif found.dtype.kind not in ("O" if is_text else "fiu"):
            reason = f"it must contain {'text' if is_text else 'numbers'}; got {found.dtype}"
        else:
            reason = _lie(found, os.path.getsize(path))
            if reason is None:
                return found
    raise ValueError(f"{path}: array {name} cannot be read ({reason}).")


def read_array(file: h5py.File, name: str) -> np.ndarray:
    """Reads an array of numbers.

    Args:
        file: `h5py.File`. A file opened by `open_hdf5`.
        name: str. Name of the array.

    Raises:
        ValueError: If `find_array` rejects the array, or if its bytes are damaged.
    """
    found = find_array(file, name)
    with naming_damage(file.filename, f"array {name}"):
        return found[...]


@contextlib.contextmanager
def naming_damage(path: str, what: str) -> Iterator[None]:
    """Context manager that replaces any error, such as one of h5py, with a ValueError."""
    try:
        yield
    except Exception as error:  # h5py raises OSError, RuntimeError, KeyError, TypeError and others
        reason = error.args[0] if error.args else type(error).__name__
        raise ValueError(f"{path}: {what} cannot be read ({reason}).") from error


def _lie(found: h5py.Dataset, file_size: int) -> str | None:
    """Describes a contradiction in the sizes of an array; returns None if there is none."""
    stored = found.id.get_storage_size()
    packed = found.id.get_create_plist().get_nfilters()
    claimed = math.prod(found.shape) * found.dtype.itemsize
    block = math.prod(found.chunks or ()) * found.dtype.itemsize  # is decompressed as a whole
    if stored > file_size:
        return f"it claims {stored:,} bytes in a file of {file_size:,} bytes"
    if claimed > stored * (LARGEST_RATIO if packed else 1):
        return f"it claims {claimed:,} bytes, of which {stored:,} are stored"
    if block > max(claimed, LARGEST_BLOCK):
        return f"its chunks have {block:,} bytes, more than the array"
    return _lie_about_text(found, file_size) if found.dtype.kind == "O" else None


def _lie_about_text(found: h5py.Dataset, file_size: int) -> str | None:
    """Describes a contradiction in the sizes or positions of texts; returns None without one."""
    start = found.id.get_offset()
    if start is None:  # no known program stores texts in chunks
        return "its texts are stored in chunks"
    with open(found.file.filename, "rb") as file:
        file.seek(start)
        entry = [("size", "<u4"), ("heap", "<u8"), ("number", "<u4")]
        entries = np.frombuffer(file.read(16 * math.prod(found.shape)), entry)
        longest = int(entries["size"].max(initial=0))
        if longest > file_size:
            return f"it claims a text of {longest:,} bytes in a file of {file_size:,} bytes"
        for heap in np.unique(entries["heap"][entries["size"] > 0]).tolist():
            if not _is_whole_heap(file, heap, file_size):
                return "its heap of texts is damaged"
    return None


def _is_whole_heap(file: BinaryIO, start: int, file_size: int) -> bool:
    """Returns True if a heap ends within the file, and its objects end within the heap.

    HDF5 may never finish reading a heap for which this does not hold.

    Reference: HDF5 File Format Specification 3.0, III.E, "Disk Format: Level 1E - Global Heap".
    """
    if start + 16 > file_size:
        return False
    file.seek(start)
    signature, _, size = struct.unpack("<4sIQ", file.read(16))
    if signature != b"GCOL" or start + size > file_size:
        return False
    heap = file.read(max(size - 16, 0))
    place = 0
    while place + 16 <= len(heap):
        number, _, _, length = struct.unpack_from("<HHIQ", heap, place)
        step = 16 + -(-length // 8) * 8 if number else length  # number 0 is free space
        if step < 16:
            return False
        place += step
    return place <= len(heap)
