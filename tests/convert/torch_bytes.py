"""Writes files in both forms of `torch.save`, the older one of which ended with PyTorch 1.5.

PyTorch is not used. Each function but the last four returns opcodes that leave one value on the
stack; see `pickletools`.
"""

import io
import struct
import zipfile

import numpy as np

from tfreps._src.convert.torch_arrays import STORAGES
from tfreps._src.convert.torch_files import START

NAMES = {np.dtype(code): name for name, code in STORAGES.items()}
VERSION = b"\x80\x02M\xe9\x03."


def number(value):
    data = value.to_bytes(9, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def text(value):
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def name(value):
    module, _, last = value.rpartition(".")
    return f"c{module}\n{last}\n".encode()


def tuple_of(*values):
    return b"(" + b"".join(values) + b"t"


def dict_of(**values):
    return b"}(" + b"".join(text(key) + value for key, value in values.items()) + b"u"


def storage(key, kind, size, view=b"N"):
    return tuple_of(text("storage"), name(kind), text(key), text("cpu"), number(size), view) + b"Q"


def array_of(stored, offset=0, shape=(2, 3), strides=(3, 1)):
    numbers = [tuple_of(*map(number, each)) for each in (shape, strides)]
    hooks = name("collections.OrderedDict") + b")R"
    rest = tuple_of(stored, number(offset), *numbers, b"\x89", hooks)
    return name("torch._utils._rebuild_tensor_v2") + rest + b"R"


def file_of(values, storages=(), keys=None, machine=None):
    """Returns a file with the opcodes of a dict, and the arrays of its storages by key."""
    machine = dict_of(little_endian=b"\x88") if machine is None else machine
    keys = list(dict(storages)) if keys is None else keys
    listed = b"](" + b"".join(map(text, keys)) + b"e"
    pickles = b"".join(b"\x80\x02" + each + b"." for each in (machine, values, listed))
    data = b"".join(struct.pack("<q", a.size) + a.tobytes() for a in dict(storages).values())
    return START + VERSION + pickles + data


def zip_of(values, storages=(), compression=zipfile.ZIP_STORED, **changes):
    """Returns the newer form; `changes` replaces members, or leaves them out if `None`."""
    members = {"data.pkl": b"\x80\x02" + values + b".", "byteorder": b"little"}
    members |= {f"data/{key}": array.tobytes() for key, array in dict(storages).items()}
    members |= {"version": b"3\n", ".data/serialization_id": b"0" * 40, **changes}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members.items():
            if data is not None:
                archive.writestr(zipfile.ZipInfo(f"archive/{name}"), data, compression)
    return buffer.getvalue()


def state_dict(arrays, write=file_of):
    """Returns a file with arrays, each in its own storage."""
    values = {}
    for key, array in arrays.items():
        strides = [step // array.itemsize for step in array.strides]
        stored = storage(key, NAMES[array.dtype], array.size)
        values[key] = array_of(stored, 0, array.shape, strides)
    return write(dict_of(**values), arrays)
