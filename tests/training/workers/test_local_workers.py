"""Tests groups of worker processes: output, failures, signals, and that none is left over."""

import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from tests.conftest import CHECKOUT
from tfreps.training.workers.local_workers import Outcome, run_workers

ADDRESSES = "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"
START = """
import json, os, pathlib, signal, sys, time
index = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
here = pathlib.Path(sys.argv[1])
def wait_for(*names):
    while not all((here / name).exists() for name in names):
        time.sleep(0.01)
def begin():
    (here / f"{index}.new").write_text(str(os.getpid()))
    (here / f"{index}.new").rename(here / f"{index}.pid")
"""
# A worker that takes a signal, as programs that train do, and ends with code 128 + n.
POLITE = """
def stop(number, frame):
    (here / f"{index}.stopped").open("a").write(signal.Signals(number).name + " ")
    time.sleep(0.3)
    sys.exit(128 + number if index else 7)
signal.signal(signal.SIGTERM, stop); signal.signal(signal.SIGINT, stop)
begin()
time.sleep(60)
"""
DEAF = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
begin()
time.sleep(60)
"""
# Runs the launcher in a separate process.
LAUNCHER = """
import os, pathlib, sys
from tfreps.training.workers.local_workers import run_workers
code = pathlib.Path(sys.argv[1], "worker.py").read_text()
command = [sys.executable, "-c", code, sys.argv[1]]
outcome = run_workers(command, sys.argv[2].split(), os.environ, (sys.stdout.buffer, ) * 2)
print(outcome.failure)
sys.exit(outcome.code)
"""


def run(folder, code, workers=3, **more):
    """Runs Python code as workers; returns the outcome, and the joined output and errors."""
    outputs = io.BytesIO(), io.BytesIO()
    command = [sys.executable, "-c", START + code, str(folder)]
    outcome = run_workers(command, ADDRESSES[:workers], os.environ, outputs, **more)
    return outcome, *(output.getvalue().decode() for output in outputs)


@pytest.fixture
def launcher(tmp_path):
    """Returns a function that starts the launcher in a process, and kills what is left."""
    processes = []

    def start(code, workers=3):
        (tmp_path / "worker.py").write_text(START + code)
        line = [sys.executable, "-c", LAUNCHER, str(tmp_path), " ".join(ADDRESSES[:workers])]
        interruptible = signal.signal(signal.SIGINT, signal.default_int_handler)
        processes.append(subprocess.Popen(line, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True))
        signal.signal(signal.SIGINT, interruptible)
        wait_until(lambda: len(pids(tmp_path)) == workers)
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()
    for pid in pids(tmp_path):
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)


def pids(folder):
    return [int(path.read_text()) for path in sorted(folder.glob("*.pid"))]


def is_running(pid):
    """Returns True if a process exists and is not a zombie, which only waits for its parent."""
    try:
        state = pathlib.Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_until(is_so, seconds=30):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


def stopped(folder):
    """Returns the signals that each worker received."""
    return {path.stem: path.read_text().split() for path in sorted(folder.glob("*.stopped"))}


def test_output_and_environment(tmp_path, capfd):
    code = """
print("out", os.environ["TF_CONFIG"], os.environ["OMP_NUM_THREADS"])
print("error", index, repr(sys.stdin.read()), file=sys.stderr)
"""
    environ = os.environ.pop("OMP_NUM_THREADS", None)
    try:
        outcome, out, error = run(tmp_path, code, threads=5)
    finally:
        os.environ.update({"OMP_NUM_THREADS": environ} if environ else {})
    assert outcome == Outcome(0, "")
    configs = [
        json.dumps({"cluster": {"worker": ADDRESSES}, "task": {"type": "worker", "index": index}})
        for index in range(3)
    ]
    prefixes = "", "[worker 1] ", "[worker 2] "
    lines = [f"{prefix}out {config} 5" for prefix, config in zip(prefixes, configs, strict=True)]
    assert sorted(out.splitlines()) == sorted(lines)
    lines = [f"{prefix}error {index} ''" for index, prefix in enumerate(prefixes)]
    assert sorted(error.splitlines()) == sorted(lines)
    assert capfd.readouterr() == ("", "")


def test_lines_are_whole(tmp_path):
    """Each worker writes its lines in two parts, at the same time as the others."""
    code = "for _ in range(200):\n    os.write(1, b'ab'); time.sleep(1e-4); os.write(1, b'cd\\n')"
    outcome, out, _ = run(tmp_path, code)
    assert outcome == Outcome(0, "")
    assert set(out.splitlines()) == {"abcd", "[worker 1] abcd", "[worker 2] abcd"}
    assert out.count("\n") == 600


class Terminal(io.BytesIO):
    def isatty(self):
        return True


def test_worker_0_inherits_a_terminal(tmp_path, capfd):
    outputs = Terminal(), io.BytesIO()
    code = START + "sys.stdout.write('a\\rb'); print('error', index, file=sys.stderr)"
    command = [sys.executable, "-c", code, str(tmp_path)]
    assert run_workers(command, ADDRESSES[:2], os.environ, outputs) == Outcome(0)
    assert outputs[0].getvalue() == b"\r\033[K[worker 1] a\rb\n"
    assert sorted(outputs[1].getvalue().splitlines()) == [b"[worker 1] error 1", b"error 0"]
    assert capfd.readouterr() == ("a\rb", "")


@pytest.mark.parametrize(
    "end, code, reason",
    [
        ("sys.exit(3)", 3, "ended with exit code 3"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "was killed by SIGKILL"),
        ("os.kill(os.getpid(), signal.SIGRTMIN + 1)", 163, "was killed by signal 35"),
    ],
)
@pytest.mark.few(2)
def test_a_failure_ends_the_others(tmp_path, end, code, reason):
    """The worker that ended earlier without an error is no failure."""
    begin = time.monotonic()
    outcome, _, _ = run(
        tmp_path,
        f"""
if index == 0:
    begin(); sys.exit(0)
if index == 1:
    wait_for("0.pid", "2.pid")
    time.sleep(0.2)
    {end}
{POLITE}""",
    )
    assert outcome == Outcome(code, f"Worker 1 {reason}; the other workers were ended.")
    assert stopped(tmp_path) == {"2": ["SIGTERM"]} and time.monotonic() - begin < 30
    assert not any(map(is_running, pids(tmp_path)))


def test_the_others_are_killed_in_time(tmp_path):
    """SIGKILL also reaches a process that the worker started."""
    outcome, _, _ = run(
        tmp_path,
        f"""
if index == 0:
    wait_for("1.pid", "2.pid")
    sys.exit(2)
if index == 2:
    if os.fork() == 0:
        index = "child"
    else:
        wait_for("child.pid")
{DEAF}""",
        seconds_to_end=0.5,
    )
    assert outcome == Outcome(2, "Worker 0 ended with exit code 2; the other workers were ended.")
    assert len(pids(tmp_path)) == 3
    wait_until(lambda: not any(map(is_running, pids(tmp_path))))


def test_a_failure_of_the_last_worker(tmp_path):
    code = "begin(); wait_for('0.pid', '1.pid')\nif index == 1: time.sleep(0.5)\nsys.exit(index)"
    outcome, _, _ = run(tmp_path, code, workers=2)
    assert outcome == Outcome(1, "Worker 1 ended with exit code 1.")


def test_a_command_that_cannot_start(tmp_path, monkeypatch):
    """Workers that were started are killed."""
    start, started = subprocess.Popen, []

    def popen(*arguments, **more):
        if started:
            raise OSError("no more processes")
        started.append(start(*arguments, **more))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(OSError, match="no more processes"):
        run(tmp_path, "time.sleep(60)")
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_is_passed_on_once(tmp_path, launcher, number):
    """Repeated signals within a second, as `timeout` sends them, are one. Worker 0 ends with 7."""
    process = launcher(POLITE)
    for _ in range(3):
        process.send_signal(number)
        time.sleep(0.03)
    out, _ = process.communicate(timeout=30)
    assert (process.returncode, out) == (7, "\n")
    assert stopped(tmp_path) == {index: [number.name] for index in "012"}
    assert not any(map(is_running, pids(tmp_path)))


def test_a_second_signal_kills(tmp_path, launcher):
    process = launcher(DEAF)
    process.send_signal(signal.SIGTERM)
    time.sleep(1.3)
    assert process.poll() is None and all(map(is_running, pids(tmp_path)))
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 137
    assert not any(map(is_running, pids(tmp_path)))


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is a call of Linux")
@pytest.mark.parametrize("code", [POLITE, DEAF])
@pytest.mark.few(1)
def test_no_worker_outlives_a_killed_launcher(tmp_path, launcher, code):
    process = launcher(code)
    assert len(pids(tmp_path)) == 3 and all(map(is_running, pids(tmp_path)))
    process.kill()
    process.wait()
    wait_until(lambda: not any(map(is_running, pids(tmp_path))), seconds=10)
    assert stopped(tmp_path) == {}


def test_handlers_are_as_before(tmp_path):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    run(tmp_path, "", workers=1)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
