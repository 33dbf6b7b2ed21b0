"""Tests which folders are versions of a model."""

import pytest

from tfreps._src.files.version_folders import LARGEST, next_version, version_folder, versions_of


def make(folder, *names):
    for name in names:
        (folder / name).mkdir(parents=True)


def test_numbers_alone_are_versions(tmp_path):
    make(tmp_path, "1", "02", "10", ".3.812.tmp", "-4", "+5", "6 ", "seven", "1e3", "٨", "9.0")
    (tmp_path / "11").write_text("a file")
    assert versions_of(tmp_path) == [1, 2, 10]
    assert next_version(tmp_path) == 11


def test_the_numbers_are_int64(tmp_path):
    make(tmp_path, "0", str(LARGEST + 1), "9" * 200)
    assert versions_of(tmp_path) == [0] and next_version(tmp_path) == 1
    make(tmp_path, str(LARGEST))
    with pytest.raises(ValueError, match="the largest possible number"):
        next_version(tmp_path)


def test_where_there_is_nothing_yet(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        assert versions_of(folder) == [] and next_version(folder) == 1
        with pytest.raises(ValueError, match="no version of a model; expected folders named 1, 2"):
            version_folder(folder)


def test_the_folder_of_a_version(tmp_path):
    make(tmp_path, "3", "03", "0004")
    assert version_folder(str(tmp_path)) == tmp_path / "0004"
    assert version_folder(tmp_path, 3) == tmp_path / "3"
    with pytest.raises(
        ValueError, match="`version` must be one of the versions in .*: 3, 4; got 5"
    ):
        version_folder(tmp_path, 5)
