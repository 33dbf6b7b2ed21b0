"""Opens the arrays of a file that `torch.save` wrote in the form of PyTorch before 1.6.

Such a file consists of five pickles and the data: a magic number, the version of the format, facts
about the machine, the dict of arrays, and the keys of the storages; then, for each key, the number
of elements (int64) and the elements. The pickles are read as data and nothing that they name is
called; see `pickled_values`. The sizes that they claim must agree with the size of the file, to
the byte, before an array is read, and every array must lie within its storage.

Source of the facts: `torch/serialization.py` and `torch/_utils.py` (BSD license).
"""

import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tfreps._src.convert.array_files import Arrays
from tfreps._src.convert.pickled_values import Name, PickledValues
from tfreps._src.files.lfs_pointers import refuse_pointer

MAGIC = 0x1950A86A20F9469CFC6C
VERSION = 1001
START = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."  # the pickle of `MAGIC`
ZIP = b"PK\x03\x04"
MOST_BYTES = 2**20  # of all five pickles; those of a BERT of 400 arrays have about 100 kB
MOST_DIMENSIONS = 8
# BFloat16Storage is missing because plain NumPy has no such type.
STORAGES = {
    **{"torch.FloatStorage": "<f4", "torch.DoubleStorage": "<f8", "torch.HalfStorage": "<f2"},
    **{"torch.LongStorage": "<i8", "torch.IntStorage": "<i4", "torch.ShortStorage": "<i2"},
    **{"torch.CharStorage": "<i1", "torch.ByteStorage": "<u1", "torch.BoolStorage": "?"},
}
ORDERED_DICT = "collections.OrderedDict"
REBUILD = "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2"


class Storage(NamedTuple):
    """Data of one or more arrays, as a file describes them."""

    key: str
    dtype: np.dtype
    size: int


class StoredArray(NamedTuple):
    """Array as a file describes it: a view of a storage, with an offset and strides in elements."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def open_torch(path: str | os.PathLike[str]) -> Arrays:
    """Opens the dict of arrays in a file of `torch.save`; reads only its description.

    Raises:
        ValueError: If the file is incomplete or damaged, has bytes after its data, contains
            anything but arrays, or has another form.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path}: expected a file of `torch.save`; the file does not exist.")
    refuse_pointer(path)
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES)
    _check_start(path, data)
    try:
        arrays, places = _description(data, path.stat().st_size)
    except ValueError as error:
        raise ValueError(
            f"{path}: expected the arrays of a state dict, but {_reason(error)}. The file may be "
            "incomplete, or contain something else than a state dict."
        ) from None

    def array(name: str) -> np.ndarray:
        return _read(path, arrays[name], places[arrays[name].storage.key])

    return Arrays({name: found.shape for name, found in arrays.items()}, array)


def _check_start(path: Path, data: bytes) -> None:
    if data.startswith(ZIP):
        raise ValueError(
            f"{path} has the form of PyTorch 1.6 and later, a zip archive, which is not read. Save "
            "it again with `torch.save(arrays, path, _use_new_zipfile_serialization=False)`."
        )
    if not data.startswith(START):
        raise ValueError(
            f"{path}: expected a file of `torch.save`; got one that starts with {data[:8]!r}."
        )


def _description(
    data: bytes, size: int
) -> tuple[dict[str, StoredArray], dict[str, tuple[int, Storage]]]:
    """Returns the arrays by name, and the position of the data of each storage by its key."""
    storages: dict[str, Storage] = {}

    def persistent(value: Any) -> Storage:
        storage = _storage(value)
        if storages.setdefault(storage.key, storage) != storage:
            raise ValueError(f"it describes storage {storage.key[:20]!r} in two ways")
        return storage

    pickles = PickledValues(data, {ORDERED_DICT, *REBUILD, *STORAGES}, _stand_in, persistent)
    if pickles.read() != MAGIC or pickles.read() != VERSION:
        raise ValueError(f"its format does not have version {VERSION}")
    machine = pickles.read()
    if type(machine) is not dict or machine.get("little_endian") is not True:
        raise ValueError("it does not come from a little-endian machine")
    arrays = pickles.read()
    if type(arrays) is not dict or not all(type(a) is StoredArray for a in arrays.values()):
        raise ValueError("it contains something else than a dict from names to arrays")
    keys = pickles.read()
    if type(keys) is not list or not all(type(key) is str for key in keys):
        raise ValueError("it has no list of storages")
    if sorted(keys) != sorted(storages):
        raise ValueError("its list of storages does not match its arrays")
    return arrays, _places([storages[key] for key in keys], pickles.position, size)


def _places(storages: list[Storage], position: int, size: int) -> dict[str, tuple[int, Storage]]:
    """Returns the position of each storage; checks that they fill the file to its end."""
    claimed = position + sum(8 + each.size * each.dtype.itemsize for each in storages)
    if claimed != size:
        raise ValueError(f"it describes {claimed:,} bytes and has {size:,}")
    places = {}
    for storage in storages:
        places[storage.key] = position, storage
        position += 8 + storage.size * storage.dtype.itemsize
    return places


def _read(path: Path, array: StoredArray, place: tuple[int, Storage]) -> np.ndarray:
    position, storage = place
    with open(path, "rb") as file:
        file.seek(position)
        count = int.from_bytes(file.read(8), "little")
        if count != storage.size:
            raise ValueError(
                f"{path}: storage {storage.key[:20]!r} must have {storage.size} elements; its data "
                f"say {count}. The file is damaged."
            )
        file.seek(array.offset * storage.dtype.itemsize, os.SEEK_CUR)
        extent = _extent(array.shape, array.strides)
        flat = np.fromfile(file, storage.dtype, extent)
    if flat.size != extent:
        raise ValueError(f"{path} became shorter while it was read. Start again.")
    strides = [step * storage.dtype.itemsize for step in array.strides]
    view = np.lib.stride_tricks.as_strided(flat, array.shape, strides, writeable=False)
    return np.array(view, order="C")


def _stand_in(name: str, arguments: tuple) -> Any:
    """Returns the value that stands for a call of one of the three functions of arrays."""
    if name == ORDERED_DICT and not arguments:
        return {}
    if name in REBUILD and len(arguments) >= 4:
        return _array(*arguments[:4])  # the rest is about gradients
    raise ValueError(f"it calls {name} with unexpected arguments")


def _storage(value: Any) -> Storage:
    """Returns the storage of a persistent id `("storage", type, key, device, size, view)`."""
    if type(value) is not tuple or len(value) not in (5, 6) or value[0] != "storage":
        raise ValueError("it refers to something else than a storage")
    _, kind, key, _, size, *view = value
    if type(kind) is not Name or kind.text not in STORAGES or type(key) is not str:
        raise ValueError("it has a storage without a type or key")
    if not _is_count(size) or view not in ([], [None]):
        raise ValueError(f"storage {key[:20]!r} in it is a view or has no size")
    return Storage(key, np.dtype(STORAGES[kind.text]), size)


def _array(storage: Any, offset: Any, shape: Any, strides: Any) -> StoredArray:
    """Returns an array that lies within its storage and has at most as many elements."""
    if type(storage) is not Storage or type(shape) is not tuple or type(strides) is not tuple:
        raise ValueError("it has an array without a storage, shape or strides")
    if not len(shape) == len(strides) <= MOST_DIMENSIONS:  # before the loop over their elements
        raise ValueError("it has an array with too many dimensions, or without a stride for each")
    if not all(map(_is_count, (offset, *shape, *strides))):
        raise ValueError("it has an array whose shape or strides are not natural numbers")
    if math.prod(shape) > storage.size or offset + _extent(shape, strides) > storage.size:
        raise ValueError(
            f"an array of shape {shape} in it exceeds its storage of {storage.size} elements"
        )
    return StoredArray(storage, offset, shape, strides)


def _extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Returns the number of elements of the storage from the array's first to its last one."""
    if 0 in shape:
        return 0
    return 1 + sum((count - 1) * step for count, step in zip(shape, strides, strict=True))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**62


def _reason(error: ValueError) -> str:
    return "a text in it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
