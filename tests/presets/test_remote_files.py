import sys

import pytest
import tensorflow as tf

from tfreps._src.presets.remote_files import copy_remote, is_remote


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_HOME", str(tmp_path / "keras"))


def write(path, text):
    if tf.io.gfile.exists(path):
        tf.io.gfile.remove(path)  # this file system appends to a file that exists
    with tf.io.gfile.GFile(path, "w") as file:
        file.write(text)


def test_a_folder_is_copied_without_other_subfolders():
    for name in "sub", "configs":
        tf.io.gfile.makedirs(f"ram://bucket/elmo/{name}")
        write(f"ram://bucket/elmo/{name}/cnn.json", "{}")
    write("ram://bucket/elmo/options.json", "{}")
    write("ram://bucket/elmo/weights.hdf5", "weights")
    folder = copy_remote("ram://bucket/elmo/")
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["configs", "options.json", "weights.hdf5"]
    assert (folder / "configs" / "cnn.json").is_file()
    assert copy_remote("ram://bucket/elmo") == folder
    write("ram://bucket/elmo/weights.hdf5", "longer weights")
    assert (copy_remote("ram://bucket/elmo") / "weights.hdf5").read_text() == "longer weights"


def test_what_is_not_there():
    with pytest.raises(ValueError, match="ram://bucket/absent cannot be read: "):
        copy_remote("ram://bucket/absent")


def test_a_file_system_that_tensorflow_has_not():
    with pytest.raises(ValueError, match="it has no file system for s3://. Install"):
        copy_remote("s3://bucket/elmo")


def test_a_scheme_that_no_file_system_has(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)  # it is not imported
    with pytest.raises(ValueError, match="does not support ftp://. Use an address with https://"):
        copy_remote("ftp://host/model.zip")


@pytest.mark.parametrize(
    "source, found", [("gs://b/c", True), ("s3://b", True), ("a/b", False), ("C:\\a", False)]
)
def test_sources(source, found):
    assert is_remote(source) == found
