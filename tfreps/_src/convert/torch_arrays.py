"""Reads the arrays that the pickles in PyTorch's files describe: storages, and views of them.

The pickles are read as data and nothing that they name is called; see `pickled_values`. Every array
must lie within its storage and must not have more elements than the storage. The position of a
storage's data depends on the format of the file; see `torch_files`.

Source: `torch/_utils.py` (BSD license).
"""

import math
import os
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfreps._src.convert.pickled_values import Name, PickledValues

MOST_DIMENSIONS = 8
STORAGES = {
    **{"torch.FloatStorage": "<f4", "torch.DoubleStorage": "<f8", "torch.HalfStorage": "<f2"},
    **{"torch.LongStorage": "<i8", "torch.IntStorage": "<i4", "torch.ShortStorage": "<i2"},
    **{"torch.CharStorage": "<i1", "torch.ByteStorage": "<u1", "torch.BoolStorage": "?"},
    "torch.BFloat16Storage": tf.bfloat16.as_numpy_dtype,
}
ORDERED_DICT = "collections.OrderedDict"
PARAMETER = "torch._utils._rebuild_parameter"
REBUILD = "torch._utils._rebuild_tensor", "torch._utils._rebuild_tensor_v2"
NAMES = {ORDERED_DICT, PARAMETER, *REBUILD, *STORAGES}
STATE_DICT = "model_state_dict"  # key under which some programs store the state dict


class Storage(NamedTuple):
    """Block of numbers in a file, which one or more arrays share.

    `key` is the name of the block in the file, and `size` is the number of elements.
    """

    key: str
    dtype: np.dtype
    size: int

    @property
    def num_bytes(self) -> int:
        """Size of the data in bytes."""
        return self.size * self.dtype.itemsize


class StoredArray(NamedTuple):
    """Description of an array in a file: a view of a storage.

    The offset and the strides are numbers of elements.
    """

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def pickles_in(data: bytes) -> tuple[PickledValues, dict[str, Storage]]:
    """Returns a reader of the pickles in `data`, and an empty dict for storages.

    While the reader reads, it adds every storage that it finds to the dict, under its key.
    """
    storages: dict[str, Storage] = {}

    def persistent(value: Any) -> Storage:
        storage = _storage(value)
        if storages.setdefault(storage.key, storage) != storage:
            raise ValueError(f"the file describes storage {storage.key[:20]!r} in two ways")
        return storage

    return PickledValues(data, NAMES, _stand_in, persistent), storages


def state_dict(value: Any) -> dict[str, StoredArray]:
    """Returns a dict from names to the `StoredArray` objects of a model.

    `value` is the content of a file: the dict of the arrays, or a dict with the entry
    `model_state_dict`.

    Raises:
        ValueError: If `value` contains anything but arrays.
    """
    found = value.get(STATE_DICT, value) if type(value) is dict else value
    if type(found) is not dict or not all(type(a) is StoredArray for a in found.values()):
        raise ValueError("the file contains something other than a dict from names to arrays")
    return found


def read_array(path: str | os.PathLike[str], array: StoredArray, position: int) -> np.ndarray:
    """Reads an array whose storage begins at byte `position` of a file.

    An array of bfloat16 numbers is returned in float32.
    """
    dtype = array.storage.dtype
    extent = _extent(array.shape, array.strides)
    flat = np.fromfile(path, dtype, extent, offset=position + array.offset * dtype.itemsize)
    if flat.size != extent:
        raise ValueError(
            f"{path} became shorter while it was read. Load the file again when it is complete."
        )
    strides = [step * dtype.itemsize for step in array.strides]
    view = np.lib.stride_tricks.as_strided(flat, array.shape, strides, writeable=False)
    # Plain NumPy has no bfloat16; the conversion to float32 is exact.
    return np.array(view, np.float32 if dtype.name == "bfloat16" else dtype, order="C")


def _stand_in(name: str, arguments: tuple) -> Any:
    """Returns the dict or `StoredArray` that replaces a call of one of the functions in `NAMES`."""
    if name == ORDERED_DICT and not arguments:
        return {}
    if name in REBUILD and len(arguments) >= 4:
        return _array(*arguments[:4])  # the remaining arguments concern gradients
    if name == PARAMETER and arguments and type(arguments[0]) is StoredArray:
        return arguments[0]
    raise ValueError(f"the file calls {name} with unexpected arguments")


def _storage(value: Any) -> Storage:
    """Returns the storage of a persistent id `("storage", type, key, device, size, view)`."""
    if type(value) is not tuple or len(value) not in (5, 6) or value[0] != "storage":
        raise ValueError(
            "the file has an invalid reference to a storage: expected a tuple of 'storage', type, "
            f"key, device and size; got {str(value)[:60]!r} of type {type(value).__name__}"
        )
    _, kind, key, _, size, *view = value
    if type(kind) is not Name or kind.text not in STORAGES or type(key) is not str:
        raise ValueError("the file has a storage without a type or key")
    if not _is_count(size) or view not in ([], [None]):
        raise ValueError(f"storage {key[:20]!r} in the file is a view or has no size")
    return Storage(key, np.dtype(STORAGES[kind.text]), size)


def _array(storage: Any, offset: Any, shape: Any, strides: Any) -> StoredArray:
    """Returns a `StoredArray` after checking that all arguments are valid.

    Raises:
        ValueError: If an argument has the wrong type, or the array exceeds its storage.
    """
    if type(storage) is not Storage or type(shape) is not tuple or type(strides) is not tuple:
        raise ValueError("the file has an array without a storage, shape or strides")
    # Limits the loops over the elements of the shape and the strides.
    if not len(shape) == len(strides) <= MOST_DIMENSIONS:
        raise ValueError(
            "the file has an array with too many dimensions, or with a different number of strides"
        )
    if not all(map(_is_count, (offset, *shape, *strides))):
        raise ValueError("the file has an array whose shape or strides are not natural numbers")
    if math.prod(shape) > storage.size or offset + _extent(shape, strides) > storage.size:
        raise ValueError(
            f"an array of shape {shape} in the file exceeds its storage of {storage.size} elements"
        )
    return StoredArray(storage, offset, shape, strides)


def _extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """Returns the number of storage elements from the array's first element to its last."""
    if 0 in shape:
        return 0
    return 1 + sum((count - 1) * step for count, step in zip(shape, strides, strict=True))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**62
