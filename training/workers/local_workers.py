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
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tfreps.training.workers.cluster import LAST_PORT, NAME, Cluster, check_port_is_free

HOST = "127.0.0.1"
THREADS = "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS", "OMP_NUM_THREADS"
POLL_SECONDS = 0.05
OUTPUT_SECONDS = 5.0
LONGEST_LINE = 2**16  # bytes; a longer line is split, so that little memory is used
CLEAR_LINE = b"\r\033[K"  # removes a line of progress from a terminal
# Signals within this time count as one, because the command `timeout` sends the same signal twice.
REPEAT_SECONDS = 1.0
# Code of a Python process that is killed when its parent ends, and that runs another command.
# A `preexec_fn` would do the same, but is not safe in a process that has threads.
TIED = """
import ctypes, os, sys
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
if os.getppid() != int(sys.argv[1]):
    sys.exit("The parent process has ended.")
os.execvp(sys.argv[2], sys.argv[2:])
"""


class Outcome(NamedTuple):
    """Exit code of a group of workers, and a sentence about the first worker that failed.

    The exit code is 0 if all workers succeeded. Otherwise, it is the exit code of the first worker
    that failed or, if this process received a signal, of worker 0. A worker that signal n killed
    has the exit code 128 + n. `failure`, the sentence, is `""` if no worker failed, or if this
    process was asked to stop.
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
    worker 0 get a prefix such as `[worker 1] `. If an output is a terminal, worker 0 writes to this
    terminal directly, so that it can redraw its line of progress. The standard input of the workers
    is empty.

    If a worker fails (its exit code is not 0), the others receive SIGTERM, and SIGKILL if they have
    not ended after `seconds_to_end`. The first SIGINT or SIGTERM that this process receives is
    passed on to all workers. The function then waits without a time limit until worker 0, which may
    be saving a checkpoint, has ended; after that, the others have `seconds_to_end` before they are
    killed. A second signal, more than a second after the first, kills all workers.

    Args:
        command: sequence of str. The program and its arguments.
        addresses: sequence of str. Address `"host:port"` of each worker.
        environ: dict of the environment variables; see `worker_environ`.
        outputs: tuple of two binary files, for standard output and standard error.
        threads: int. Number of threads of each worker. Defaults to 1.
        seconds_to_end: float. Defaults to 10.0.

    Returns:
        `Outcome`.

    Raises:
        OSError: If a process cannot be started; all started processes are then killed. On Linux, a
            worker whose program cannot be run fails with exit code 1 instead.
    """
    workers, copies = [], []
    locks = threading.Lock(), threading.Lock()
    with _noted_signals() as signals:
        try:
            for index in range(len(addresses)):
                own = worker_environ(environ, Cluster(tuple(addresses), index), threads)
                worker = _start(command, own, *(index == 0 and o.isatty() for o in outputs))
                workers.append(worker)
                prefix = f"[worker {index}] " if index > 0 else ""
                sources = worker.stdout, worker.stderr
                for source, output, lock in zip(sources, outputs, locks, strict=True):
                    if source is not None:
                        given = source, output, prefix.encode(), lock
                        copies.append(threading.Thread(target=copy_lines, args=given, daemon=True))
                        copies[-1].start()
            outcome = _wait(workers, signals, seconds_to_end)
        finally:
            _kill(workers)
    # The time is limited, because a source stays open if another process has inherited it.
    for thread in copies:
        thread.join(OUTPUT_SECONDS)
    return outcome


def local_addresses(count: int, first_port: int | None = None) -> tuple[str, ...]:
    """Returns a tuple of `count` addresses on this machine whose ports are free now.

    If `first_port` is given, the ports are consecutive, and a ValueError is raised if one of the
    ports is above 65535 or in use. Otherwise, the operating system chooses the ports.
    """
    if first_port is None:
        # All sockets are open at the same time, so that their ports differ.
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
            for each in sockets:
                each.bind(("", 0))
            return tuple(f"{HOST}:{each.getsockname()[1]}" for each in sockets)
    if first_port + count - 1 > LAST_PORT:
        raise ValueError(
            f"`port` must be at most {LAST_PORT - count + 1} with {count} workers, whose ports are "
            f"consecutive; got {first_port}."
        )
    addresses = tuple(f"{HOST}:{first_port + number}" for number in range(count))
    for address in addresses:
        check_port_is_free(address)
    return addresses


def worker_environ(environ: Mapping[str, str], cluster: Cluster, threads: int) -> dict[str, str]:
    """Returns the environment variables of a worker on this machine.

    The result contains `environ` and TF_CONFIG. The variables in `THREADS` (with the value
    `threads`) and PYTHONUNBUFFERED are added if they are not set. 127.0.0.1 is added to
    no_grpc_proxy, because TensorFlow's workers would otherwise connect to each other through the
    proxy in http_proxy and wait indefinitely.
    """
    found = {**dict.fromkeys(THREADS, str(threads)), **environ, NAME: cluster.as_tf_config()}
    direct = environ.get("no_grpc_proxy") or environ.get("no_proxy")
    found["no_grpc_proxy"] = ",".join([*([direct] if direct else []), HOST])
    found.setdefault("PYTHONUNBUFFERED", "1")
    return found


def threads_per_worker(count: int) -> int:
    """Returns the number of threads for each of `count` workers: cores / `count`, at least 1."""
    has_affinity = hasattr(os, "sched_getaffinity")  # only Linux has this function
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, cores // count)


def copy_lines(source, target, prefix: bytes, lock) -> None:
    """Copies the lines of the binary file `source` to `target` with a prefix, and closes `source`.

    Each line is written while `lock` is held, since several threads write to `target`. If `target`
    can no longer be written to, for example because its reader has ended, `source` is still read to
    its end, so that no process blocks on a full pipe. On a terminal, a copied line replaces the
    current progress line, which its process prints again.
    """
    prefix = (CLEAR_LINE if target.isatty() else b"") + prefix
    is_lost = False
    with source:
        for line in iter(lambda: source.readline(LONGEST_LINE), b""):
            with lock:
                try:
                    if not is_lost:
                        target.write(prefix + line.removesuffix(b"\n") + b"\n")
                        target.flush()
                except (OSError, ValueError):
                    is_lost = True


def _are_repeated(signals):
    return signals and signals[-1][1] - signals[0][1] > REPEAT_SECONDS


@contextlib.contextmanager
def _noted_signals():
    """Context manager that yields a list, to which each SIGINT or SIGTERM adds `(number, time)`.

    The time is in seconds. The signals have no other effect. Ignored signals stay ignored.
    """
    signals, before = [], {}

    def note(number, frame):
        signals.append((number, time.monotonic()))

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.getsignal(number) or signal.SIG_DFL
            if before[number] is not signal.SIG_IGN:
                signal.signal(number, note)
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _start(command, environ, inherits_output, inherits_errors):
    """Starts the process of a worker and returns its `subprocess.Popen`.

    The process inherits the standard output or standard error of this process, or gets a pipe.
    """
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
    """Waits until all workers have ended, or ends them after a failure or a signal.

    Returns their `Outcome`.
    """
    while True:
        codes = [worker.poll() for worker in workers]
        if signals:
            _send(workers, signals[0][0])
            while workers[0].poll() is None and not _are_repeated(signals):
                time.sleep(POLL_SECONDS)
            _wait_for(workers, seconds_to_end, signals)
            _kill(workers)
            return Outcome(_exit_code(workers[0].returncode))
        failed = next((index for index, code in enumerate(codes) if code), None)
        if failed is not None:
            _send(workers, signal.SIGTERM)
            _wait_for(workers, seconds_to_end)
            _kill(workers)
            others = "; the other workers were ended" if None in codes else ""
            code = codes[failed]
            return Outcome(_exit_code(code), f"Worker {failed} {_reason(code)}{others}.")
        if None not in codes:
            return Outcome(0)
        time.sleep(POLL_SECONDS)


def _send(workers, number):
    for worker in workers:
        worker.send_signal(number)  # does nothing if the worker has ended


def _wait_for(workers, seconds, signals=()):
    """Waits until all workers have ended, `seconds` have passed, or a signal is repeated."""
    end = time.monotonic() + seconds
    while any(worker.poll() is None for worker in workers) and time.monotonic() < end:
        if _are_repeated(signals):
            return
        time.sleep(POLL_SECONDS)


def _kill(workers):
    """Kills the workers that have not ended, with their own child processes."""
    for worker in workers:
        if worker.poll() is None:
            if hasattr(os, "killpg"):
                os.killpg(worker.pid, signal.SIGKILL)
            else:
                # Windows has no process groups that can be killed.
                worker.kill()
            worker.wait()


def _exit_code(code):
    """Converts the return code of a `Popen` to the exit code that a shell would report.

    If signal n killed the process, the exit code is 128 + n.
    """
    return code if code >= 0 else 128 - code


def _reason(code):
    if code > 0:
        return f"ended with exit code {code}"
    names = {each.value: each.name for each in signal.Signals}
    return f"was killed by {names.get(-code, f'signal {-code}')}"
