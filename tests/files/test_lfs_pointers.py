"""Tests that git-lfs pointers raise an error."""

import pytest

from tfreps._src.files.lfs_pointers import refuse_pointer

TEXT = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 438\n"


def test_pointers(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(TEXT)
    for start in (None, TEXT):
        with pytest.raises(ValueError, match="model.bin is a git-lfs pointer.*run `git lfs pull`"):
            refuse_pointer(path, start)


def test_other_files(tmp_path):
    path = tmp_path / "model.bin"
    for data in (b"", b"version", b"\x00" + TEXT):
        path.write_bytes(data)
        refuse_pointer(path)
        refuse_pointer("nowhere", data)
