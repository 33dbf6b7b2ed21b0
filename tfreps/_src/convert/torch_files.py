"""Opens the arrays of files that `torch.save` wrote, in its older and its current format.

The pickles in them are read as data; see `pickled_values` and `torch_arrays`. The sizes in
the pickles must agree with the size of the file before an array is read.

Since PyTorch 1.6, a file is a zip archive whose members are in one folder: `data.pkl`, the pickle
of the dict of arrays; `data/KEY`, the elements of each storage; `version`; and, since PyTorch 2.1,
`byteorder`. PyTorch does not compress or encrypt them, so an array is read at its position in the
file, and nothing is extracted. As for safetensors, no checksum of the data is compared.

Before PyTorch 1.6, a file consists of five pickles and the data: a magic number, the version of the
format, facts about the machine, the dict of arrays, and the keys of the storages; then, for each
key, the number of elements (int64) and the elements. The file ends after the last element.

Source: `torch/serialization.py` (BSD license).
"""

import os
import struct
import zipfile
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from tfreps._src.convert.array_files import Arrays
from tfreps._src.convert.torch_arrays import (
    Storage,
    StoredArray,
    pickles_in,
    read_array,
    state_dict,
)
from tfreps._src.files.lfs_pointers import refuse_pointer

MAGIC = 0x1950A86A20F9469CFC6C
VERSION = 1001
# Bytes of the pickle of `MAGIC`, with which older files start.
START = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
ZIP = b"PK\x03\x04"
ZIP_VERSIONS = {str(version).encode() for version in range(1, 11)}
# Maximum size of all pickles together, which is about 100 kB for a BERT of 400 arrays.
MOST_BYTES = 2**20
HEADER = 30  # number of bytes of a member's header, which the name and other fields follow
IS_ENCRYPTED = 1  # this bit of a member's flags is set if the member is encrypted
# Errors that zipfile raises for damaged archives, except the ValueError for invalid names.
BROKEN = zipfile.BadZipFile, NotImplementedError, OSError, OverflowError, struct.error


class Description(NamedTuple):
    """Content of a file of `torch.save`.

    Attributes:
        arrays: dict from the names of the arrays to their descriptions.
        positions: dict from the key of each storage to the position of its first byte in the file.
    """

    arrays: dict[str, StoredArray]
    positions: dict[str, int]


def is_torch(path: Path) -> bool:
    """Returns True if a path is a file that begins like a file of `torch.save`.

    Newer versions of `torch.save` write zip archives.
    """
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(len(START)).startswith((START, ZIP))


def open_torch(path: str | os.PathLike[str]) -> Arrays:
    """Returns the arrays of a file of `torch.save`; an array is read only when it is requested.

    Raises:
        ValueError: If the file is incomplete or damaged, has compressed or encrypted members, or
            contains anything but arrays.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(
            f"{path}: expected a file of `torch.save`; the file does not exist. Check the path."
        )
    refuse_pointer(path)
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES)
        if not data.startswith((START, ZIP)):
            raise ValueError(
                f"{path}: expected a file of `torch.save`; got a file that starts with "
                f"{data[:8]!r}. Pass a file that `torch.save` or safetensors wrote."
            )
        size = os.fstat(file.fileno()).st_size
        try:
            found = _in_zip(file, size) if data.startswith(ZIP) else _in_pickles(file, data, size)
        except ValueError as error:
            raise ValueError(
                f"{path}: expected the arrays of a state dict, but {_reason(error)}. The file may "
                "be incomplete, or contain something other than a state dict. With PyTorch, "
                "`torch.save(model.state_dict(), path)` writes such a file."
            ) from None

    def array(name: str) -> np.ndarray:
        stored = found.arrays[name]
        return read_array(path, stored, found.positions[stored.storage.key])

    return Arrays({name: stored.shape for name, stored in found.arrays.items()}, array)


def _in_zip(file: BinaryIO, size: int) -> Description:
    try:
        with zipfile.ZipFile(file) as archive:
            members = {member.filename: member for member in archive.infolist()}
            if len(members) != len(archive.infolist()):
                raise ValueError("two members of the zip archive have the same name")
    except BROKEN as error:
        raise ValueError(f"the file is a damaged zip archive ({error})") from None
    folders = [name[:-8] for name in members if name.endswith("/data.pkl") and name.count("/") == 1]
    if len(folders) != 1:
        raise ValueError("the file is a zip archive without a member data.pkl")
    inside = {name.removeprefix(folders[0]): member for name, member in members.items()}
    if "constants.pkl" in inside:
        raise ValueError(
            "the file is a TorchScript program, which tfreps does not run. "
            "Load the program with `torch.jit.load`, and save its `state_dict()` with `torch.save`"
        )
    if _content(file, inside, "version", size).strip() not in ZIP_VERSIONS:
        raise ValueError("the format of the file has an unknown version")
    if "byteorder" in inside and _content(file, inside, "byteorder", size) != b"little":
        raise ValueError("the file was not written by a little-endian machine")
    pickles, storages = pickles_in(_content(file, inside, "data.pkl", size))
    arrays = state_dict(pickles.read())
    if {f"data/{key}" for key in storages} != {n for n in inside if n.startswith("data/")}:
        raise ValueError("the storages in the file do not match the arrays")
    positions = {}
    for key, storage in storages.items():
        member = inside[f"data/{key}"]
        if member.file_size != storage.num_bytes:
            raise ValueError(
                f"storage {key[:20]!r} has {member.file_size:,} bytes; expected "
                f"{storage.num_bytes:,}"
            )
        positions[key] = _position(file, member, size)
    return Description(arrays, positions)


def _content(file: BinaryIO, inside: dict[str, zipfile.ZipInfo], name: str, size: int) -> bytes:
    """Returns the bytes of the member `name` of a zip archive.

    `inside` maps names to the members of the archive, and `size` is the number of bytes of the
    file.

    Raises:
        ValueError: If the member is missing or has more than `MOST_BYTES` bytes.
    """
    if name not in inside:
        raise ValueError(f"the file is a zip archive without a member {name}")
    position = _position(file, inside[name], size)
    if inside[name].file_size > MOST_BYTES:
        raise ValueError(f"the member {name} of the zip archive has more than {MOST_BYTES:,} bytes")
    file.seek(position)
    return file.read(inside[name].file_size)


def _position(file: BinaryIO, member: zipfile.ZipInfo, size: int) -> int:
    """Returns the position of the first byte of a zip member's data in the file.

    `size` is the number of bytes of the file. A ValueError is raised if the data are compressed or
    encrypted.
    """
    name, start = member.filename[-40:], member.header_offset
    is_stored = member.compress_type == zipfile.ZIP_STORED
    if not is_stored or member.file_size != member.compress_size or member.flag_bits & IS_ENCRYPTED:
        raise ValueError(f"the member {name!r} of the zip archive is compressed or encrypted")
    if 0 <= start <= size - HEADER:
        file.seek(start)
        header = file.read(HEADER)
        # Skips the name and other fields, whose sizes end the header.
        start += HEADER + sum(struct.unpack("<HH", header[26:]))
        if header.startswith(ZIP) and start + member.file_size <= size:
            return start
    raise ValueError(
        f"the member {name!r} of the zip archive, with {member.file_size:,} bytes, does not "
        "lie within the file"
    )


def _in_pickles(file: BinaryIO, data: bytes, size: int) -> Description:
    pickles, storages = pickles_in(data)
    if pickles.read() != MAGIC or pickles.read() != VERSION:
        raise ValueError(f"the format of the file does not have version {VERSION}")
    machine = pickles.read()
    if type(machine) is not dict or machine.get("little_endian") is not True:
        raise ValueError("the file was not written by a little-endian machine")
    arrays = state_dict(pickles.read())
    keys = pickles.read()
    if type(keys) is not list or not all(type(key) is str for key in keys):
        raise ValueError("the file has no list of storages")
    if sorted(keys) != sorted(storages):
        raise ValueError("the list of storages in the file does not match the arrays")
    found = [storages[key] for key in keys]
    claimed = pickles.position + sum(8 + storage.num_bytes for storage in found)
    if claimed != size:
        raise ValueError(f"the file describes {claimed:,} bytes, but has {size:,} bytes")
    return Description(arrays, _in_order(file, found, pickles.position))


def _in_order(file: BinaryIO, storages: list[Storage], position: int) -> dict[str, int]:
    """Returns a dict from the key of each storage to the position of its first byte in the file.

    The storages follow one another from byte `position` on. Each consists of the number of its
    elements, an int of 8 bytes, and the data.
    """
    positions = {}
    for storage in storages:
        file.seek(position)
        count = int.from_bytes(file.read(8), "little")
        if count != storage.size:
            raise ValueError(
                f"the file states {count} elements for storage {storage.key[:20]!r}; expected "
                f"{storage.size}"
            )
        positions[storage.key] = position + 8
        position += 8 + storage.num_bytes
    return positions


def _reason(error: ValueError) -> str:
    return (
        "a text in the file is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
    )
