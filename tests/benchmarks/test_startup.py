"""Tests the benchmark of starting programs, with commands that take no time."""

import sys
import types

import pytest
import tensorflow as tf

from benchmarks import startup
from tfreps.__main__ import PROGRAMS
from tfreps.inference import load


@pytest.fixture
def calls(monkeypatch):
    """The commands that were run; each run takes one second more than the one before."""
    found, clock = [], iter(range(1000))

    def run(command, **_):
        found.append(command)
        return types.SimpleNamespace(returncode=0, stdout="a line\n4\n3\n2\n1\n", stderr="")

    monkeypatch.setattr(startup.subprocess, "run", run)
    monkeypatch.setattr(startup.time, "perf_counter", lambda: sum(range(next(clock))))
    return found


def test_a_row_for_every_program():
    options = startup.make_parser().parse_args([])
    names = startup.commands(options)
    assert {f"{program} --help" for program in PROGRAMS} < set(names)
    assert "tag" not in names and "predict" not in names


def test_both_installations_take_turns(calls, capsys, tmp_path):
    for version in "9", "10":
        (tmp_path / version).mkdir()
        (tmp_path / version / "saved_model.pb").touch()
    given = ["--run", "R", "--export", str(tmp_path), "--before", "other", "--repeats", "2"]
    assert startup.main([*given, "--only", "predict"]) == 0
    assert [command[0] for command in calls] == [sys.executable, "other"] * 6
    assert calls[-1][-3] == str(tmp_path / "10")
    table = capsys.readouterr().out.splitlines()
    assert "| predict, in Python: first answer | 3.00 | 3.00 | 1.00 |" in table
    assert len(table) == 3 + 2 + len(startup.STEPS)


def test_cpu_seconds():
    command = [sys.executable, "-I", "-c", "import time; time.sleep(0.3)"]
    assert (
        startup.run("sleep", command, of_cpu=True)["sleep"] < startup.run("sleep", command)["sleep"]
    )


def test_a_command_that_fails(monkeypatch):
    failed = types.SimpleNamespace(returncode=2, stdout="", stderr="no such run")
    monkeypatch.setattr(startup.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(SystemExit, match="import keras failed:\nno such run"):
        startup.main(["--only", "keras"])


@pytest.mark.parametrize("eagerly", [[], ["eagerly"]])
def test_the_steps_are_timed(monkeypatch, capsys, eagerly):
    """A tagger and a SavedModel that store the numbers of words they are asked for."""
    asked, model = [], types.SimpleNamespace()

    class Tagger:
        def __init__(self, path):
            self.model = model

        def __call__(self, text):
            asked.append(len(text.split()))

    signature = lambda text: asked.append(len(text.numpy()[0].split()))  # noqa: E731
    export = types.SimpleNamespace(signatures={"default": signature})
    monkeypatch.setattr(tf.saved_model, "load", lambda path: export)
    monkeypatch.setattr(load, "load", Tagger)
    monkeypatch.setattr(sys, "argv", ["-c", "folder", startup.LINE, "process_time", *eagerly])
    for code in startup.TAGGER, startup.EXPORT:
        exec(code, {})
        assert len(capsys.readouterr().out.splitlines()) == len(startup.STEPS)
    assert asked == [8, 8, 24] * 2 and model.run_eagerly == bool(eagerly)
