"""One process at a time writes into a run folder; the lock ends with its process."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys

import pytest

from tests.conftest import CHECKOUT
from tfreps._src.runs.run_lock import LOCK, RunInUse, locked

# Takes the lock, prints a line and waits to be killed.
HOLDS = """
import sys, time
from tfreps._src.runs.run_lock import locked
with locked(sys.argv[1], "train-tagger"):
    print("taken", flush=True)
    time.sleep(60)
"""


def names(folder):
    return [path.name for path in folder.iterdir()]


def test_a_killed_process_leaves_no_lock_behind(tmp_path):
    command = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "taken\n"
        with pytest.raises(RunInUse) as raised, locked(tmp_path, "pretrain-elmo"):
            pass
        assert str(raised.value) == (
            f"{tmp_path} is in use: process {process.pid} (`tfreps train-tagger`) is writing to "
            "it. Wait until it ends, or choose another folder."
        )
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    assert names(tmp_path) == [LOCK]  # a leftover file
    with locked(tmp_path, "pretrain-elmo"):
        assert json.loads((tmp_path / LOCK).read_text())["pid"] == os.getpid()
    assert names(tmp_path) == []


def test_another_host_is_named_and_a_holder_that_has_not_said_who_it_is(tmp_path):
    with locked(tmp_path, "train-tagger"):
        said = json.loads((tmp_path / LOCK).read_text())
        (tmp_path / LOCK).write_text(json.dumps({**said, "host": "node7", "pid": 12}))
        with pytest.raises(RunInUse, match="process 12 on node7 .`tfreps train-tagger`. is"):
            with locked(tmp_path, "train-tagger"):
                pass
        (tmp_path / LOCK).write_text("")
        with pytest.raises(RunInUse, match="is in use: another process is writing"):
            with locked(tmp_path, "train-tagger"):
                pass


def test_a_folder_is_made_and_goes_again_if_nothing_was_written(tmp_path):
    with locked(tmp_path / "a" / "b", "train-tagger"):
        assert names(tmp_path / "a" / "b") == [LOCK]
    assert names(tmp_path) == []
    with locked(tmp_path / "a" / "b", "train-tagger"):
        (tmp_path / "a" / "model").write_text("")
    assert names(tmp_path / "a") == ["model"]


def test_a_lock_that_is_removed_while_it_is_opened_is_taken_anew(tmp_path, monkeypatch):
    flock, calls = fcntl.flock, []

    def slow(file, how):
        calls.append(how)
        if len(calls) == 1:
            (tmp_path / LOCK).unlink()  # the other process has finished
        return flock(file, how)

    monkeypatch.setattr(fcntl, "flock", slow)
    with locked(tmp_path, "train-tagger"):
        assert len(calls) == 2 and names(tmp_path) == [LOCK]


def test_without_locks_a_warning_is_logged_and_nothing_is_locked(tmp_path, monkeypatch, caplog):
    def none(file, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", none)
    with locked(tmp_path, "train-tagger"), locked(tmp_path, "train-tagger"):
        assert names(tmp_path) == []
    assert caplog.text.count(f"{tmp_path} cannot be locked") == 2


def test_other_failures_are_reported(tmp_path, monkeypatch):
    def broken(file, how):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "flock", broken)
    with pytest.raises(OSError, match="Input/output"), locked(tmp_path, "train-tagger"):
        pass
