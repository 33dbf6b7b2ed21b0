"""Tests atomic writing: temporary names, streams and full disks."""

import contextlib
import io
import os
import resource
import subprocess
import sys
import threading

import h5py
import numpy as np
import pytest

from tfreps._src.files.atomic_files import (
    is_stream,
    is_temporary,
    replacing,
    write_text,
    written_whole,
)


@contextlib.contextmanager
def largest_file(size):
    """Limits the size of files, which fails like a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "out.txt"
    with written_whole(path) as file:
        file.write("yes\n")
        assert not path.exists()
    assert path.read_bytes() == b"yes\n"
    with pytest.raises(RuntimeError), written_whole(path) as file:
        file.write("half")
        raise RuntimeError
    assert path.read_text() == "yes\n" and list(tmp_path.iterdir()) == [path]


def test_links_and_pipes_stay_what_they_are(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with written_whole(tmp_path / "link") as file:
        file.write("new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target").read_text() == "new"
    os.mkfifo(tmp_path / "pipe")
    read, found = threading.Thread(target=lambda: found.append(pipe.read_text())), []
    pipe = tmp_path / "pipe"
    read.start()
    with written_whole(pipe) as file:
        file.write("yes")
    read.join(10)
    assert found == ["yes"] and pipe.is_fifo()
    receiver, sender = os.pipe()
    with written_whole(f"/dev/fd/{sender}") as file:  # like /dev/stdout, a link to no path
        file.write("yes")
    os.close(sender)
    assert os.read(receiver, 9) == b"yes"
    os.close(receiver)


def test_standard_output_stays_open(capsys):
    with written_whole(None) as file:
        file.write("yes\n")
    print("more")
    assert capsys.readouterr().out == "yes\nmore\n"


def test_places_where_nothing_can_be_written(tmp_path):
    with pytest.raises(ValueError, match="Cannot write to .*: it is a folder"):
        with written_whole(tmp_path):
            raise AssertionError
    with pytest.raises(ValueError, match="there is no folder"):
        with written_whole(tmp_path / "absent" / "out.txt"):
            raise AssertionError


def test_standard_output_by_its_name_appends_to_what_the_shell_opened(tmp_path):
    (tmp_path / "out.txt").write_text("before\n")
    code = "from tfreps._src.files.atomic_files import *; print('first'); "
    code += "write_text('/dev/stdout', 'second\\n'); print('third')"
    with open(tmp_path / "out.txt", "a") as file:
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert (tmp_path / "out.txt").read_text() == "before\nfirst\nsecond\nthird\n"


@pytest.mark.parametrize("before", ["", "earlier"])
def test_a_full_disk_names_the_file_and_leaves_nothing(tmp_path, before):
    path = tmp_path / "out.txt"
    if before:
        path.write_text(before)
    with largest_file(4096), pytest.raises(OSError, match="File too large") as caught:
        write_text(path, "x" * 100_000)
    assert caught.value.filename == str(path)
    assert [p.name for p in tmp_path.iterdir()] == ["out.txt"] * bool(before)
    assert not before or path.read_text() == before
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_text("/dev/full", "x" * 100_000)


def test_a_full_disk_under_hdf5(tmp_path):
    path = tmp_path / "vectors.hdf5"
    with largest_file(65536), pytest.raises(OSError, match="too large") as caught:
        with replacing(path) as temporary, h5py.File(temporary, "w") as file:
            file["0"] = np.zeros(100_000)
    assert caught.value.filename == str(path) and list(tmp_path.iterdir()) == []


def test_standard_output_that_is_full(monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(OSError, match="No space left on device: 'standard output'"):
            with written_whole(None) as file:
                file.write("x" * 100_000)
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        with contextlib.suppress(OSError):
            full.close()


def test_what_a_killed_process_left_is_removed(tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for name in (f".out.txt.{gone.pid}.tmp.txt", f".out.txt.{os.getppid()}.tmp.txt", ".out.txt.x"):
        (tmp_path / name).write_text("half")
    write_text(tmp_path / "out.txt", "x")
    names = [".out.txt.x", f".out.txt.{os.getppid()}.tmp.txt", "out.txt"]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(names)
    assert [is_temporary(name) for name in sorted(names)] == [True, False, False]


def test_the_rights_of_a_file_stay(tmp_path):
    (tmp_path / "out.txt").write_text("secret")
    (tmp_path / "out.txt").chmod(0o600)
    write_text(tmp_path / "out.txt", "more")
    assert (tmp_path / "out.txt").stat().st_mode & 0o777 == 0o600


def test_a_folder_appears_whole(tmp_path):
    folder = tmp_path / "a" / "run"
    with pytest.raises(RuntimeError), replacing(folder, parents=True) as temporary:
        temporary.mkdir()
        (temporary / "x").write_text("half")
        raise RuntimeError
    assert list((tmp_path / "a").iterdir()) == []
    folder.mkdir()
    with replacing(folder, parents=True) as temporary:
        temporary.mkdir()
        (temporary / "x").write_text("whole")
    assert (folder / "x").read_text() == "whole"
    with pytest.raises(OSError), replacing(folder) as temporary:  # the folder is not empty
        temporary.mkdir()
    assert (folder / "x").read_text() == "whole" and list(folder.parent.iterdir()) == [folder]


def test_a_folder_that_is_missing_is_made_when_asked(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "a" / "x"):
        raise AssertionError
    with replacing(tmp_path / "a" / "x", parents=True) as temporary:
        temporary.write_text("yes")
    assert (tmp_path / "a" / "x").read_text() == "yes"


def test_streams(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_text("")
    paths = (tmp_path / "pipe", "/dev/null", "/dev/stdout", tmp_path / "file", tmp_path, "absent")
    assert [is_stream(path) for path in paths] == [True, True, True, False, False, False]
    write_text("/dev/null", "gone")
    assert not os.path.isfile("/dev/null")
