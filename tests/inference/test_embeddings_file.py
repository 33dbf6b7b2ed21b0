"""The HDF5 layout, unfinished files and damaged files."""

import json
import os
import types

import h5py
import numpy as np
import pytest

from tfreps._src.inference.embeddings_file import read_options
from tfreps.inference import EmbeddingsFile

OPTIONS = {"layers": "top", "dtype": "float16"}


def write(file, *numbers):
    with file.open_window() as put:
        for number in numbers:
            put(number, np.full([number, 4], number, np.float16))


def test_layout(tmp_path):
    file = EmbeddingsFile(tmp_path / "new" / "v.hdf5", OPTIONS)
    write(file, 1, 0)
    write(file, 2)
    file.finish({"b": "1", "": "0", "c c": "2"})
    with h5py.File(file.path) as result:
        assert sorted(result) == ["0", "1", "2", "sentence_to_index"]
        assert result["0"].shape == (0, 4) and result["2"].dtype == np.float16
        assert result["2"][()].tolist() == [[2] * 4] * 2
        assert result["sentence_to_index"].shape == (1,)
        assert json.loads(result["sentence_to_index"][0]) == {"b": "1", "": "0", "c c": "2"}
    assert read_options(file.path) == OPTIONS
    assert [path.name for path in file.path.parent.iterdir()] == ["v.hdf5"]


def test_a_window_that_failed_is_not_there(tmp_path):
    file = EmbeddingsFile(tmp_path / "v.hdf5", OPTIONS)
    write(file, 0, 1)
    with pytest.raises(KeyboardInterrupt):
        with file.open_window() as put:
            put(2, np.zeros([2, 4]))
            raise KeyboardInterrupt
    assert not file.path.exists()
    again = EmbeddingsFile(tmp_path / "v.hdf5", OPTIONS, resume=True)
    assert again.windows == 1 and not again.complete
    write(again, 2)
    again.finish(None)
    done = EmbeddingsFile(again.path, OPTIONS, resume=True)
    assert done.complete
    with pytest.raises(ValueError, match="is already complete"):
        done.finish(None)
    with h5py.File(again.path) as result:
        assert sorted(result) == ["0", "1", "2"]


def test_refusals(tmp_path):
    path = tmp_path / "v.hdf5"
    file = EmbeddingsFile(path, OPTIONS)
    with pytest.raises(ValueError, match="Pass `resume=True` to continue it"):
        EmbeddingsFile(path, OPTIONS)
    with pytest.raises(ValueError, match="layers 'top'; this call has layers 'all'"):
        EmbeddingsFile(path, {**OPTIONS, "layers": "all"}, resume=True)
    write(file, 0)
    file.finish({})
    with pytest.raises(ValueError, match="already exists"):
        EmbeddingsFile(path, OPTIONS)
    with pytest.raises(ValueError, match="layers 'top'; this call has layers 'all'"):
        EmbeddingsFile(path, {**OPTIONS, "layers": "all"}, resume=True)
    path.write_text("something else")
    with pytest.raises(ValueError, match="was not written by `tfreps embed`"):
        EmbeddingsFile(path, OPTIONS, resume=True)
    assert path.read_text() == "something else"
    with pytest.raises(ValueError, match="Cannot write to .*: it is a folder"):
        EmbeddingsFile(tmp_path, OPTIONS, overwrite=True)


def test_files_that_are_damaged(tmp_path):
    """Other errors of h5py than OSError become a ValueError that names the file."""
    file = EmbeddingsFile(tmp_path / "v.hdf5", OPTIONS)
    write(file, 1)
    file.finish({"b": "1"})
    for text in np.bytes_(b"[1]"), json.dumps(OPTIONS):
        with h5py.File(file.path, "a") as changed:
            changed.attrs["tfreps_options"] = text
        with pytest.raises(ValueError, match="v.hdf5 exists but was not written by `tfreps"):
            read_options(file.path)


def test_a_full_disk_is_told_by_the_name_of_the_file(tmp_path, monkeypatch):
    file = EmbeddingsFile(tmp_path / "vectors.hdf5", {})
    with file.open_window() as put:
        put(0, np.ones([3, 8], "float32"))
    full = types.SimpleNamespace(f_bavail=100, f_frsize=4096, f_blocks=200, f_bfree=100)
    with monkeypatch.context() as patch:
        patch.setattr(os, "statvfs", lambda path: full)
        with pytest.raises(OSError, match="No space left") as caught, file.open_window() as put:
            put(1, np.ones([3, 8], "float32"))
        assert caught.value.filename == str(file.path)
        with pytest.raises(OSError, match="No space left") as caught:
            file.finish({})
        assert caught.value.filename == str(file.path)
    assert sorted(p.name for p in file.part.iterdir()) == ["00000000.hdf5", "options.json"]
    file.finish({})
    assert file.complete
