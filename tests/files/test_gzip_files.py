"""Tests the reading of plain, compressed and damaged files."""

import gzip

import pytest

from tfreps._src.files.gzip_files import GZIP_ERRORS, damaged_gzip, open_unpacked, read_unpacked


def test_packed_and_plain(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"one\ntwo\n"))
    for path in (tmp_path / "a.txt", str(tmp_path / "a.txt.gz")):
        assert read_unpacked(path) == b"one\ntwo\n"
        with open_unpacked(path) as file:
            assert file.readline() == b"one\n"
            file.seek(4)
            assert file.read() == b"two\n"


@pytest.mark.parametrize(
    "data", [b"no gzip", gzip.compress(b"one" * 99, mtime=0)[:-9], b"\x1f\x8b\x08\0" + b"\xff" * 20]
)
def test_damage(tmp_path, data):
    (tmp_path / "a.gz").write_bytes(data)
    with pytest.raises(
        ValueError, match="a.gz: the file is damaged or not a gzip file .*be named .*gz"
    ) as caught:
        read_unpacked(tmp_path / "a.gz")
    assert isinstance(caught.value.__cause__, GZIP_ERRORS)
    assert str(damaged_gzip("a.gz, after line 3", EOFError("x"))).startswith(
        "a.gz, after line 3: the file is d"
    )


def test_missing(tmp_path):
    for name in ("a.txt", "a.gz"):
        with pytest.raises(ValueError, match="Cannot read .*a.*: No such file or directory"):
            read_unpacked(tmp_path / name)
