"""Tests the checks of output files: inputs, existing files and --overwrite."""

import os
import sys

import pytest

from tfreps._src.cli.output_checks import check_output, check_overwrite


def test_a_file_that_holds_something_needs_overwrite(tmp_path):
    path = tmp_path / "notes.txt"
    check_output(path)
    path.write_text("")
    check_output(path)  # `mktemp` makes such files
    path.write_text("mine")
    with pytest.raises(ValueError, match="notes.txt already exists. .* give --overwrite"):
        check_output(path)
    check_output(path, overwrite=True)
    check_output(None)
    with pytest.raises(ValueError, match="it is a folder"):
        check_output(tmp_path, overwrite=True)
    with pytest.raises(ValueError, match="there is no folder"):
        check_output(tmp_path / "absent" / "a.txt")


def test_an_input_is_never_the_output(tmp_path, monkeypatch):
    path = tmp_path / "text.txt"
    path.write_text("mine")
    os.link(path, tmp_path / "hard.txt")
    (tmp_path / "soft.txt").symlink_to(path)
    monkeypatch.chdir(tmp_path)
    for given in (path, tmp_path / "hard.txt", "soft.txt", "te*.txt", tmp_path, "**/text.txt"):
        with pytest.raises(ValueError, match="text.txt is an input of this command .*, and"):
            check_output(path, overwrite=True, inputs=["absent.txt", given])
    with open(path) as file:
        monkeypatch.setattr(sys, "stdin", file)
        kept = os.dup(0)
        os.dup2(file.fileno(), 0)
        try:
            with pytest.raises(ValueError, match="is an input of this command"):
                check_output(path, overwrite=True, inputs=["-"])
        finally:
            os.dup2(kept, 0)
            os.close(kept)
    (tmp_path / "other.txt").write_text("mine")
    check_output(tmp_path / "other.txt", overwrite=True, inputs=[path, "-"])


def test_streams_need_no_overwrite(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/null", "/dev/stdout", tmp_path / "pipe"):
        check_output(path, inputs=[path])


def test_a_folder_that_is_made_later(tmp_path):
    check_overwrite(tmp_path / "absent" / "a.txt")
    (tmp_path / "a.txt").write_text("mine")
    with pytest.raises(ValueError, match="a.txt already exists. .* give --overwrite"):
        check_overwrite(tmp_path / "a.txt")
    check_overwrite(tmp_path / "a.txt", overwrite=True)


def test_a_path_through_a_folder_that_is_not_there(tmp_path):
    """The file is written to the path without `..`, so that this path is checked."""
    path = tmp_path / "mine.txt"
    path.write_text("a corpus")
    odd = tmp_path / "missing" / ".." / "mine.txt"
    for check in (check_output, check_overwrite):
        with pytest.raises(ValueError, match="mine.txt is an input of this command"):
            check(odd, overwrite=True, inputs=[path])
        with pytest.raises(ValueError, match="mine.txt already exists"):
            check(odd)
