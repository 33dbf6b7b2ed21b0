"""Tests that errors of the disk name the given file, and that other errors pass."""

import os

import pytest

from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.disk_errors import check_space, naming


def test_errors_about_other_things_pass(tmp_path):
    for error in (ValueError("no"), FileNotFoundError(2, "gone", "input.txt"), BrokenPipeError(32)):
        with pytest.raises(type(error)) as caught, naming("out.txt", tmp_path / "temporary"):
            raise error
        assert caught.value is error
    if os.geteuid() == 0:
        return
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError) as caught:
        write_text(tmp_path / "out.txt", "x")
    assert caught.value.filename == str(tmp_path / "out.txt")


def test_a_disk_without_room_is_noticed_before(tmp_path):
    path = tmp_path / "vectors.hdf5"
    check_space(path, 0)
    with pytest.raises(OSError, match="No space left on device") as caught:
        check_space(path, 2**62)
    assert caught.value.filename == str(path)
