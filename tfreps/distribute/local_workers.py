"""run_workers: starts the workers of a cluster on this machine and waits for them.

Every worker is the leader of its own session, so that Ctrl-C reaches it once, through this process.
On Linux, the kernel kills the workers with SIGKILL if this process ends without ending them, even
if this process is itself killed with SIGKILL: each worker requests this (prctl with
PR_SET_PDEATHSIG) before it runs the command. On other systems, the workers keep running in that
case.
"""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tfreps.distribute.cluster import Cluster
from tfreps.distribute.joined_output import JoinedOutput
from tfreps.distribute.local_cluster import worker_environ

POLL_SECONDS = 0.05
OUTPUT_SECONDS = 5.0
# Signals that come within this time are one request: `timeout` sends the same signal twice.
REPEAT_SECONDS = 1.0
# Program of a Python process that is killed when its parent ends, and becomes another command.
# A `preexec_fn` would do the same, but is not safe in a process that has threads.
TIED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
if os.getppid() != int(sys.argv[1]):
    sys.exit("The parent process has ended.")
os.execvp(sys.argv[2], sys.argv[2:])
"""


class Outcome(NamedTuple):
    """Exit code of a group of workers, and which of them failed first.

    Args:
        code: int. Exit code: 0 if all workers succeeded, else that of the first worker that failed,
            or that of worker 0 after a signal. It is 128 + n for a worker that signal n killed.
        failure: str. Sentence about the first worker that failed; `""` if none failed, or if this
            process was asked to stop. Defaults to `""`.
    """

    code: int
    failure: str = ""


def run_workers(
    command: Sequence[str],
    addresses: Sequence[str],
    environ: Mapping[str, str],
    outputs: tuple,
    threads: int = 1,
    seconds_to_end: float = 10.0,
) -> Outcome:
    """Runs a command once for each address, with TF_CONFIG set, and waits for all processes.

    The output of the workers is copied to `outputs` in whole lines. Lines of all workers except
    worker 0 get a prefix such as `[worker 1] `. If an output is a terminal, worker 0 inherits that
    stream of this process instead, so that it can redraw its line of progress. The standard input
    of the workers is empty.

    If a worker fails (its exit code is not 0), the others receive SIGTERM, and SIGKILL if they have
    not ended after `seconds_to_end`. The first SIGINT or SIGTERM that this process receives is
    passed on to all workers. The function then waits without a time limit until worker 0, which may
    be saving a checkpoint, has ended; after that, the others have `seconds_to_end` before they are
    killed. A second signal, more than a second after the first, kills all workers. Outside the main
    thread, no signals are passed on.

    Args:
        command: sequence of str. Program and arguments.
        addresses: sequence of str. Addresses of the workers, as returned by `local_addresses`.
        environ: mapping of str to str. Environment variables that the workers inherit.
        outputs: pair of binary files, to which standard output and standard error are copied.
        threads: int. Number of threads of each worker (see `worker_environ`). Defaults to 1.
        seconds_to_end: float. Time in seconds before workers that have not ended are killed, as
            described above. Defaults to 10.0.

    Returns:
        `Outcome`.

    Raises:
        OSError: If a process cannot be started. Those that were started are killed. On Linux, no
            error is raised if the program in `command` cannot be run; instead, the worker fails
            with exit code 1.

    Example:
    >>> import io
    >>> out, err = io.BytesIO(), io.BytesIO()
    >>> command = [sys.executable, "-c", "import os; print(os.environ['OMP_NUM_THREADS'])"]
    >>> environ = {**os.environ, "OMP_NUM_THREADS": "3"}
    >>> run_workers(command, ["127.0.0.1:2222", "127.0.0.1:2223"], environ, (out, err))
    Outcome(code=0, failure='')
    >>> sorted(out.getvalue().splitlines())
    [b'3', b'[worker 1] 3']
    """
    joined = [JoinedOutput(output) for output in outputs]
    workers = []
    with _noted_signals() as signals:
        try:
            for index in range(len(addresses)):
                own = worker_environ(environ, Cluster(tuple(addresses), index), threads)
                inherits = [index == 0 and output.isatty() for output in outputs]
                workers.append(_start(command, own, *inherits))
                prefix = f"[worker {index}] " if index > 0 else ""
                if workers[-1].stdout is not None:
                    joined[0].follow(workers[-1].stdout, prefix)
                if workers[-1].stderr is not None:
                    joined[1].follow(workers[-1].stderr, prefix)
            outcome = _wait(workers, signals, seconds_to_end)
        finally:
            _kill(workers)
    for output in joined:
        output.wait(OUTPUT_SECONDS)
    return outcome


class _Signals:
    """SIGINT or SIGTERM that this process received, and whether it was repeated."""

    def __init__(self):
        self.number, self.is_repeated, self._time = None, False, 0.0

    def note(self, number, frame):
        now = time.monotonic()
        if self.number is None:
            self.number, self._time = number, now
        elif now - self._time > REPEAT_SECONDS:
            self.is_repeated = True


@contextlib.contextmanager
def _noted_signals():
    """Context manager that only records SIGINT and SIGTERM. Ignored signals stay ignored."""
    signals, before = _Signals(), {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.getsignal(number) or signal.SIG_DFL
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, signals.note)
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(command, environ, inherits_output, inherits_errors):
    """Starts the process of a worker and returns it."""
    if sys.platform == "linux":
        command = [sys.executable, "-I", "-S", "-c", TIED, str(os.getpid()), *command]
    return subprocess.Popen(
        command,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=None if inherits_output else subprocess.PIPE,
        stderr=None if inherits_errors else subprocess.PIPE,
        start_new_session=True,
    )


def _wait(workers, signals, seconds_to_end):
    """Waits until all workers have ended; ends them after a failure or a signal."""
    while True:
        codes = [worker.poll() for worker in workers]
        if signals.number is not None:
            return _pass_on(workers, signals, seconds_to_end)
        failed = next((index for index, code in enumerate(codes) if code), None)
        if failed is not None:
            others = "; the other workers were ended" if None in codes else ""
            _end(workers, seconds_to_end)
            return Outcome(
                _exit_code(codes[failed]), f"Worker {failed} {_reason(codes[failed])}{others}."
            )
        if None not in codes:
            return Outcome(0)
        time.sleep(POLL_SECONDS)


def _pass_on(workers, signals, seconds_to_end):
    """Sends the received signal to all workers and waits until they have ended."""
    for worker in workers:
        worker.send_signal(signals.number)  # does nothing if the worker has ended
    while workers[0].poll() is None and not signals.is_repeated:
        time.sleep(POLL_SECONDS)
    _wait_for(workers, 0.0 if signals.is_repeated else seconds_to_end, signals)
    _kill(workers)
    return Outcome(_exit_code(workers[0].returncode))


def _end(workers, seconds):
    """Ends all workers with SIGTERM, and with SIGKILL after a number of seconds."""
    for worker in workers:
        worker.terminate()
    _wait_for(workers, seconds)
    _kill(workers)


def _wait_for(workers, seconds, signals=None):
    """Waits until all workers have ended, `seconds` have passed, or a signal is repeated."""
    end = time.monotonic() + seconds
    while any(worker.poll() is None for worker in workers) and time.monotonic() < end:
        if signals is not None and signals.is_repeated:
            return
        time.sleep(POLL_SECONDS)


def _kill(workers):
    """Kills the workers that have not ended, with their own child processes."""
    for worker in workers:
        if worker.poll() is None:
            if hasattr(os, "killpg"):
                os.killpg(worker.pid, signal.SIGKILL)
            else:  # Windows
                worker.kill()
            worker.wait()


def _exit_code(code):
    """Returns an exit code as a shell does: 128 + n for a process that signal n killed."""
    return code if code >= 0 else 128 - code


def _reason(code):
    if code > 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:  # a real-time signal
        return f"was killed by signal {-code}"
