"""Tests that damaged and malicious HDF5 files raise a ValueError without allocating memory."""

import os

import h5py
import numpy as np
import pytest

from tfreps._src.files.hdf5_files import (
    array_shapes,
    find_array,
    naming_damage,
    open_hdf5,
    read_array,
)

NUMBERS = np.arange(6, dtype="float32").reshape(2, 3)


def made(path, fill):
    with h5py.File(path, "w") as file:
        file["fine/a"] = NUMBERS
        fill(file)
    return path


def test_arrays_come_back_whole(tmp_path):
    def fill(file):
        file.create_dataset("packed", data=np.zeros([50, 40]), compression="gzip", chunks=(50, 40))
        file["empty"] = np.zeros([0, 4], "float16")
        file["scalar"] = np.float32(2.5)

    with open_hdf5(made(tmp_path / "w.hdf5", fill)) as file:
        shapes = {"fine/a": (2, 3), "packed": (50, 40), "empty": (0, 4), "scalar": ()}
        assert array_shapes(file) == shapes
        assert {name: read_array(file, name).shape for name in shapes} == shapes
        np.testing.assert_array_equal(read_array(file, "fine/a"), NUMBERS)


def elsewhere(file):
    with h5py.File(file.filename + ".other", "w") as other:
        other["a"] = NUMBERS
    file["a"] = h5py.ExternalLink(file.filename + ".other", "a")


def outside(file):
    with open(file.filename + ".raw", "wb") as raw:
        raw.write(NUMBERS.tobytes())
    parts = [(file.filename + ".raw", 0, NUMBERS.nbytes)]
    file.create_dataset("a", (2, 3), "f4", external=parts)


def virtual(file):
    layout = h5py.VirtualLayout((2, 3), "f4")
    layout[:] = h5py.VirtualSource(file.filename, "fine/a", (2, 3))
    file.create_virtual_dataset("a", layout)


@pytest.mark.parametrize(
    "fill, reason",
    [
        (lambda file: None, "object 'a' doesn't exist|no such array in the file"),
        (lambda file: file.create_group("a"), "no such array in the file"),
        (lambda file: file.update({"a": h5py.SoftLink("/a")}), "no such array in the file"),
        (elsewhere, "no such array in the file"),
        (outside, "its values are stored in another file"),
        (virtual, "its values are stored in another file"),
        (lambda file: file.update({"a": h5py.Empty("f4")}), "it has no shape"),
        (lambda file: file.update({"a": "text"}), "it must contain numbers; got object"),
        (
            lambda file: file.create_dataset("a", (2**40, 4), "f4", chunks=(2**14, 4)),
            "it claims 17,592,186,044,416 bytes, of which 0 are stored",
        ),
        (
            lambda file: file.create_dataset(
                "a", data=NUMBERS, chunks=(2**24, 3), maxshape=(None, 3), compression="gzip"
            ),
            "its chunks have 201,326,592 bytes, more than the array",
        ),
    ],
    ids="missing group circle link outside virtual empty text sparse chunk".split(),
)
def test_what_is_no_array_in_the_file(tmp_path, fill, reason):
    path = made(tmp_path / "w.hdf5", fill)
    with open_hdf5(path) as file:
        for find in find_array, read_array:
            with pytest.raises(ValueError, match=rf"w.hdf5: array a cannot be read \(.*({reason})"):
                find(file, "a")


def test_what_is_no_hdf5(tmp_path):
    path = tmp_path / "w.hdf5"
    with pytest.raises(ValueError, match="w.hdf5: expected an HDF5 file; the file does not exist"):
        open_hdf5(path)
    path.write_text("text")
    with pytest.raises(ValueError, match="w.hdf5: expected weights; the file cannot be read"):
        open_hdf5(path, "weights")


def test_damage_inside(tmp_path):
    """Names of groups are damaged too, for which h5py raises errors other than OSError."""
    path = made(tmp_path / "w.hdf5", lambda file: None)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"HEAP", b"HEAT"))
    with open_hdf5(path) as file, pytest.raises(ValueError, match="w.hdf5: its list of arrays can"):
        array_shapes(file)
    with (
        pytest.raises(ValueError, match="x: this cannot be read .RuntimeError"),
        naming_damage("x", "this"),
    ):
        raise RuntimeError
    assert os.listdir(tmp_path) == ["w.hdf5"]
