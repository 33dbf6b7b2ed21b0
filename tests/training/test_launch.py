"""Tests `tfreps launch`: the commands of the workers, exit codes, and invalid options."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.conftest import CHECKOUT
from tfreps._src.cli.commands import COMMANDS, import_command, main
from tfreps.training.workers.local_workers import Outcome

launch = import_command("training.launch")  # the module that `main` runs: see CONTRIBUTING.md

# Code that replaces `python -m tfreps`, which would import TensorFlow.
FAKE = """
import json, os, signal, sys, time
worker = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
print(worker, *sys.argv[1:], flush=True)
if "--fail" in sys.argv and worker == 1:
    sys.exit(4)
def stop(number, frame):
    print("saved", flush=True)
    sys.exit(128 + number)
signal.signal(signal.SIGTERM, stop)
if "--fail" in sys.argv or "--wait" in sys.argv:
    print("waits", flush=True)
    time.sleep(60)
"""
# Runs `tfreps launch` with `FAKE` as the command of the workers.
COMMAND = f"""
import sys
from tfreps._src.cli.commands import import_command, main
launch, fake = import_command("training.launch"), {FAKE!r}
run = launch.run_workers
launch.run_workers = lambda command, *rest: run([*command[:1], "-c", fake, *command[3:]], *rest)
sys.exit(main(["launch", *sys.argv[1:]]))
"""


def start(*arguments):
    """Starts `tfreps launch` with `FAKE` as the command of the workers; returns the process."""
    environ = {name: value for name, value in os.environ.items() if name != "TF_CONFIG"}
    line = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(line, cwd=CHECKOUT, env=environ, text=True, **both)


@pytest.fixture
def calls(monkeypatch):
    """Replaces `run_workers`; returns the list of its arguments."""
    found = []

    def run(*arguments):
        found.append(arguments)
        return Outcome(0)

    monkeypatch.setattr(launch, "run_workers", run)
    monkeypatch.delenv("TF_CONFIG", raising=False)
    return found


def test_the_workers_of_a_command():
    process = start("--workers", 3, "--", "train-tagger", "--run", "a b", "--words", "-1", "--")
    out, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (0, "")
    words = "train-tagger --run a b --words -1 -- --distribute multiworker"
    lines = [f"0 {words}", f"[worker 1] 1 {words}", f"[worker 2] 2 {words}"]
    assert sorted(out.splitlines()) == lines


def test_a_worker_that_fails():
    process = start("--workers", 2, "--", "pretrain-elmo", "--fail")
    out, error = process.communicate(timeout=60)
    assert process.returncode == 4
    assert error == (
        "tfreps launch: Worker 1 ended with exit code 4; the other workers were ended.\n"
    )
    assert "[worker 1] 1 pretrain-elmo --fail --distribute multiworker\n" in out


def test_a_signal_reaches_the_workers():
    process = start("--workers", 2, "--", "pretrain-bert", "--wait")
    lines = [process.stdout.readline() for _ in range(4)]
    assert sorted(lines)[-1] == "waits\n" and "[worker 1] waits\n" in lines
    time.sleep(0.1)
    process.send_signal(signal.SIGTERM)
    out, error = process.communicate(timeout=60)
    assert (process.returncode, error) == (143, "")
    assert sorted(out.splitlines()) == ["[worker 1] saved", "saved"]


@pytest.mark.parametrize("given", [[], ["--distribute", "multiworker"]])
def test_the_command_of_a_worker(calls, given, monkeypatch):
    monkeypatch.setattr(launch, "threads_per_worker", lambda count: 10 * count)
    assert main(["launch", "--workers", "2", "--", "train-tagger", "--epochs", "1", *given]) == 0
    [(command, addresses, environ, outputs, threads)] = calls
    program = ["train-tagger", "--epochs", "1", "--distribute", "multiworker"]
    assert command == [sys.executable, "-m", "tfreps", *program]
    assert len(set(addresses)) == 2 and environ is os.environ and threads == 20
    assert outputs == (sys.stdout.buffer, sys.stderr.buffer)


def test_options(calls, tmp_path):
    path = tmp_path / "launch.json"
    path.write_text(json.dumps({"workers": 1, "threads_per_worker": 3}))
    line = ["--config", str(path), "--", "train-classifier", "--distribute=multiworker"]
    assert main(["launch", *line]) == 0
    assert calls[0][0][3:] == ["train-classifier", "--distribute=multiworker"]
    assert len(calls[0][1]) == 1 and calls[0][4] == 3


def test_ports(calls, capsys):
    (free,) = launch.local_addresses(1)
    port = free.partition(":")[2]
    assert main(["launch", "--workers", "1", "--port", port, "--", "train-tagger"]) == 0
    assert calls[0][1] == (free,)
    with socket.create_server(("127.0.0.1", int(port))):
        assert main(["launch", "--workers", "1", "--port", port, "--", "train-tagger"]) == 2
    assert f"error: Port {port} of this worker" in capsys.readouterr().err
    assert main(["launch", "--workers", "2", "--port", "65535", "--", "train-tagger"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tfreps launch: error: --port must be at most 65534 with 2 workers")
    assert len(calls) == 1


@pytest.mark.parametrize(
    "line, message",
    [
        ("--workers 2 -- tag a", "COMMAND must be pretrain-elmo, .* or train-class.*; got 'tag'"),
        ("--workers 2 -- train-hmm", "COMMAND must be .*; got 'train-hmm'"),
        ("--workers 2", "arguments are required: COMMAND"),
        ("--workers 2 --", "arguments are required: COMMAND"),
        ("-- train-tagger", "arguments are required: --workers. See tfreps launch"),
        ("--workers 0 -- train-tagger", "--workers must be at least 1 and at most 256; got 0"),
        ("--workers 1000 -- train-tagger", "at most 256; got 1000"),
        ("--workers two -- train-tagger", "--workers: invalid int value"),
        ("--workers 2 --port 0 -- train-tagger", "--port must be at least 1"),
        (
            "--workers 2 --threads-per-worker 0 -- train-tagger",
            "--threads-per-worker must be at least 1",
        ),
        (
            "--workers 2 train-tagger --run r",
            "must follow --; got train-tagger without --. Write: tfreps launch --workers 2 -- "
            "train-tagger ...",
        ),
        ("train-tagger --workers 2", "Write: tfreps launch --workers N -- train-tagger"),
        (
            "--workers 2 -- train-tagger --distribute mirrored",
            "--distribute must be multiworker for workers that tfreps launch starts; got "
            "'mirrored'",
        ),
        ("--workers 2 -- train-tagger --distribute=none", "must be multiworker .*; got 'none'"),
        ("--workers 2 -- train-tagger --distribute", "must be multiworker .*; got ''"),
    ],
)
def test_mistakes(calls, capsys, line, message):
    try:
        code = main(["launch", *line.split()])
    except SystemExit as end:
        code = end.code
    error = capsys.readouterr().err
    assert (code, error.count("\n"), calls) == (2, 1, []), error
    assert error.startswith("tfreps launch: error: ") and re.search(message, error), error


def test_a_cluster_that_is_already_set(calls, capsys, monkeypatch):
    monkeypatch.setenv("TF_CONFIG", "{}")
    assert main(["launch", "--workers", "2", "--", "train-tagger"]) == 2
    error = capsys.readouterr().err
    assert (
        "TF_CONFIG must not be set, since tfreps launch sets it for every worker. Unset it" in error
    )
    assert calls == []


def test_every_program_that_trains_is_known():
    assert set(launch.TRAINING) < set(COMMANDS) and not launch.COMMAND.tensorflow
