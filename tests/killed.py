"""Kills processes at the n-th file that they open, rename or remove."""

import os
import signal
import subprocess
import sys

EVENTS = "open", "os.rename", "os.mkdir", "os.remove", "os.rmdir"
PROGRAM = """
import sys
from tests.killed import kill_at
from tfreps.__main__ import main
kill_at(sys.argv[1], int(sys.argv[2]))
main(sys.argv[3:])
"""


def kill_at(place, number):
    """Kills this process at the n-th event below a folder, counted from 1."""
    place, left = os.path.abspath(place), number

    def hook(event, arguments):
        nonlocal left
        if event in EVENTS and str(arguments[0]).startswith(place):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def killed_in_a_fork(work, place, number):
    """Runs `work()` in a fork and returns True if it was killed before its end."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            kill_at(place, number)
            work()
            code = 0
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    assert status in (0, signal.SIGKILL), f"the work failed: {status}"
    return status == signal.SIGKILL


def killed_program(place, number, *arguments):
    """Runs a program and returns True if it was killed before its end."""
    line = [sys.executable, "-c", PROGRAM, str(place), str(number), *map(str, arguments)]
    return subprocess.run(line, capture_output=True).returncode == -signal.SIGKILL
