"""Runs the cases of a format in a monitored process, and collects the results."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import pytest

from tests.conftest import CHECKOUT
from tests.hostile.worker import many_cases

FEW = 50
START_SECONDS = 120  # until the first case, for imports and for writing files
# Environment variables to run more or other cases than `make test-slow`.
SCALE = float(os.environ.get("TFREPS_HOSTILE_SCALE", "1"))
FIRST = int(os.environ.get("TFREPS_HOSTILE_FIRST", "0"))
RESULTS = []  # (format, report of `many_cases`) for the table


def run_few(kind, folder):
    """Runs a few cases in this process, for the quick tests."""
    found = many_cases(kind, range(FEW), kind.prepare(folder), folder)
    assert not found["problems"], "\n".join(found["problems"])


def run_many(kind, folder):
    """Runs all cases in another process, and in a new one after a crash or a hang."""
    first, last = FIRST, FIRST + max(int(kind.cases * SCALE), 1)
    together = dict.fromkeys(["cases", "taken", "seconds", "processor", "megabytes", "grown"], 0)
    problems, slowest = [], (0.0, first)
    while first < last and len(problems) < 20:
        found = watched(kind, first, last, folder)
        problems += found["problems"]
        for key in "cases", "taken", "seconds", "processor":
            together[key] += found[key]
        for key in "megabytes", "grown":
            together[key] = max(together[key], found[key])
        slowest = max(slowest, tuple(found["slowest"]))
        first += found["cases"]
    RESULTS.append((kind.name, {**together, "slowest": slowest, "problems": len(problems)}))
    assert not problems, f"{len(problems)} problems:\n" + "\n".join(problems)


def watched(kind, first, last, folder):
    """Returns the report of a worker, or a description of its crash or hang."""
    with tempfile.TemporaryDirectory(dir=folder) as cases:
        report = pathlib.Path(folder, "report.json")
        number = pathlib.Path(f"{report}.number")
        for path in (report, number):
            path.unlink(missing_ok=True)
        command = [sys.executable, "-m", "tests.hostile.worker", kind.name]
        command += [str(first), str(last), cases, str(report)]
        path = os.pathsep.join([str(CHECKOUT), os.environ.get("PYTHONPATH", "")])
        with open(pathlib.Path(folder, "log.txt"), "w+b") as log:
            began = time.perf_counter()
            process = subprocess.Popen(
                command, cwd=cases, stdout=log, stderr=log, env={**os.environ, "PYTHONPATH": path}
            )
            try:
                hung = not_moving(process, number, kind.seconds)
            finally:
                process.kill()
                process.wait()
            if report.is_file():
                return json.loads(report.read_text(encoding="utf-8"))
            log.seek(max(log.seek(0, os.SEEK_END) - 4_000, 0))
            end = log.read().decode("utf-8", "replace")
        at = int(number.read_bytes() or first) if number.is_file() else None
        if at is None:
            pytest.fail(f"{kind.name} did not start:\n{end}")
        what = "hung" if hung else f"ended with {process.returncode}"
        return {
            **{"cases": at + 1 - first, "taken": 0, "megabytes": 0.0, "grown": 0.0},
            **{"seconds": time.perf_counter() - began, "processor": 0.0, "slowest": (0.0, at)},
            "problems": [f"{kind.name} {at}: the process {what}:\n{end}"],
        }


def not_moving(process, number, seconds):
    """Waits for a process to end; returns True if one of its cases takes too long."""
    seen, since = None, time.monotonic()
    while process.poll() is None:
        time.sleep(0.05)
        now = number.read_bytes() if number.is_file() else None
        if now != seen:
            seen, since = now, time.monotonic()
        allowed = START_SECONDS if not seen else 6 * seconds + 10
        if time.monotonic() - since > allowed:
            return True
    return False


def table():
    """Yields the lines of a table with the results of every format."""
    head = "format", "cases", "taken", "seconds", "CPU s", "ms a case", "slowest ms", "peak MB"
    head = (*head, "grown MB")
    rows = [
        (
            *(name, f"{found['cases']:,}", f"{found['taken']:,}", f"{found['seconds']:.1f}"),
            f"{found['processor']:.1f}",
            f"{1000 * found['processor'] / max(found['cases'], 1):.2f}",
            f"{1000 * found['slowest'][0]:.0f}",
            *(f"{found['megabytes']:.0f}", f"{found['grown']:.0f}"),
        )
        for name, found in RESULTS
    ]
    cases, seconds, processor = (
        sum(found[key] for _, found in RESULTS) for key in ("cases", "seconds", "processor")
    )
    rows.append(("all", f"{cases:,}", "", f"{seconds:.1f}", f"{processor:.1f}", *" " * 4))
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        first, *others = (
            text.ljust(w) if not n else text.rjust(w)
            for n, (text, w) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join([first, *others]).rstrip()
