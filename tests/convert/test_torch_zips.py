"""The zip archives of `torch.save`: damage, sizes beyond the file, and forbidden pickles."""

import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from tests.convert.test_torch_files import CALL, GOOD, SIX, opened
from tests.convert.torch_bytes import array_of, dict_of, storage, zip_of
from tfreps._src.convert.torch_files import MOST_BYTES


def in_zip(stored=GOOD, storages=None, compression=zipfile.ZIP_STORED, view=None, **changes):
    values = dict_of(w=array_of(stored, **(view or {})))
    return zip_of(values, {"0": SIX} if storages is None else storages, compression, **changes)


def edited(data, place, form, value, member="archive/data/0"):
    """Changes a field of the central directory: a byte position in the entry of a member."""
    start = data.rindex(member.encode()) - 46 + place
    return data[:start] + struct.pack(form, value) + data[start + struct.calcsize(form) :]


LARGE = edited(edited(in_zip(), 20, "<I", 2**31), 24, "<I", 2**31)  # both of its sizes
FLOATS = storage("0", "torch.FloatStorage", 2**29)


@pytest.mark.parametrize(
    "data, message",
    [
        (in_zip()[:-1], "damaged zip archive"),
        (in_zip()[1:], "expected a file of `torch.save`"),
        (in_zip()[:200], "damaged zip archive"),
        (in_zip(**{"data.pkl": None}), "without a member data.pkl"),
        (in_zip(**{"data.pkl": None, "../data.pkl": b"}."}), "without a member data.pkl"),
        (in_zip(version=None), "without a member version"),
        (in_zip(version=b"11"), "unknown version"),
        (in_zip(byteorder=b"big"), "little-endian"),
        (in_zip(**{"constants.pkl": b"N."}), "a TorchScript program"),
        (in_zip(compression=zipfile.ZIP_DEFLATED), "is compressed or encrypted"),
        (edited(in_zip(), 8, "<H", 1), "data/0' of the zip archive is compressed or encrypted"),
        (edited(in_zip(), 10, "<H", 8), "data/0' of the zip archive is compressed or encrypted"),
        (edited(in_zip(), 20, "<I", 8), "data/0' of the zip archive is compressed or encrypted"),
        (edited(in_zip(), 24, "<I", 8), "has 8 bytes; expected 24"),
        (edited(in_zip(), 42, "<I", 2**30), "does not lie within the file"),
        (edited(in_zip(), 42, "<I", 7), "does not lie within the file"),
        (edited(in_zip(), 6, "<H", 99), "damaged zip archive"),
        (LARGE, "has 2,147,483,648 bytes; expected 24"),
        (in_zip(FLOATS), "has 24 bytes; expected 2,147,483,648"),
        (in_zip(storage("0", "torch.DoubleStorage", 6)), "has 24 bytes; expected 48"),
        (
            in_zip(storage("1", "torch.FloatStorage", 6)),
            "storages in the file do not match the arrays",
        ),
        (
            in_zip(storage("../0", "torch.FloatStorage", 6)),
            "storages in the file do not match the arrays",
        ),
        (in_zip(storages={}), "storages in the file do not match the arrays"),
        (in_zip(storages={"0": SIX, "1": SIX}), "storages in the file do not match the arrays"),
        (in_zip(view={"offset": 1}), "exceeds its storage of 6 elements"),
        (in_zip(view={"shape": (2**40, 3), "strides": (0, 1)}), "exceeds its storage"),
        (in_zip(view={"strides": (3, -1)}), "not natural numbers"),
        (in_zip(CALL), "refers to posix.system, which is not used to store arrays"),
        (in_zip(**{"data.pkl": b"\x80\x02" + CALL + b"."}), "refers to posix.system"),
        (in_zip(**{"data.pkl": b"\x80\x02" + b"(" * 300}), "ends within a pickle"),
        (in_zip(**{"data.pkl": b"\x80\x04}."}), "has protocol 4"),
        (
            in_zip(**{"data.pkl": b"N" * (MOST_BYTES + 1)}),
            "data.pkl of the zip archive has more than 1,048,576",
        ),
    ],
)
def test_zip_archives_that_are_refused(tmp_path, monkeypatch, data, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=f"encoder.pkl.*{message}"):
        opened(tmp_path, data)
    assert [path.name for path in tmp_path.iterdir()] == ["encoder.pkl"]


def test_a_size_beyond_the_file(tmp_path):
    """Both the pickle and the directory of the archive claim 2 GB, which are not read."""
    large = edited(edited(in_zip(FLOATS), 20, "<I", 2**31), 24, "<I", 2**31)
    tracemalloc.start()
    with pytest.raises(ValueError, match="with 2,147,483,648 bytes, does not lie within the file"):
        opened(tmp_path, large)
    assert tracemalloc.get_traced_memory()[1] < 2**21
    tracemalloc.stop()


def test_two_members_of_one_name(tmp_path):
    data = in_zip(storages={"0": SIX, "1": SIX}).replace(b"archive/data/1", b"archive/data/0")
    with pytest.raises(ValueError, match="two members of the zip archive have the same name"):
        opened(tmp_path, data)


def test_archives_that_are_read(tmp_path):
    """No byte order, as before PyTorch 2.1; another folder; and members that are not read."""
    expected = SIX.reshape(2, 3)
    renamed = in_zip().replace(b"archive/", b"m\xc3\xb6del_/")
    extra = in_zip(**{"../../escaped": b"N.", "a/data.pkl": CALL})
    for data in in_zip(byteorder=None), renamed, extra, b"PK\x03\x04" + in_zip():
        np.testing.assert_array_equal(opened(tmp_path, data).array("w"), expected)
    assert [path.name for path in tmp_path.iterdir()] == ["encoder.pkl"]


def test_what_is_compressed_but_not_read(tmp_path):
    """A zip bomb in a member that is not read: nothing is extracted."""
    values = dict_of(w=array_of(GOOD))
    data = zip_of(values, {"0": SIX})
    path = tmp_path / "encoder.pkl"
    path.write_bytes(data)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/bomb", bytes(2**24))
    tracemalloc.start()
    np.testing.assert_array_equal(opened(tmp_path, path.read_bytes()).array("w").ravel(), SIX)
    assert tracemalloc.get_traced_memory()[1] < 2**21
    tracemalloc.stop()
