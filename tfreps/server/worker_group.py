"""WorkerGroup: processes that share ports, which their parent starts, watches and stops."""

import contextlib
import logging
import multiprocessing.connection
import os
import socket
import threading
import time
from typing import NamedTuple

LOG = logging.getLogger("tfreps.server")
WATCH_SECONDS = 1.0  # between checks whether all workers are running


class Worker(NamedTuple):
    """Process of a group, with the parent's end of its pipe."""

    process: multiprocessing.Process
    pipe: multiprocessing.connection.Connection


class WorkerGroup:
    """Group of processes that all do the same work.

    A worker calls `ready_until_stopped`, and ends when its parent sends SIGTERM or has ended. A
    worker that ends by itself is replaced.

    Args:
        count: int. Number of workers.
        work: Function that takes the number of the worker, counted from 1, `*arguments` and its
            pipe. It runs in a new process, and must be importable there.
        *arguments: Picklable arguments of `work`.
    """

    def __init__(self, count, work, *arguments):
        self._work = work
        self._arguments = arguments
        self._workers = {number: None for number in range(1, count + 1)}

    def start(self):
        """Starts the workers and waits until all of them are ready.

        Returns:
            The value that the first worker passed to `ready_until_stopped`.

        Raises:
            ValueError: If a worker fails; with the message of its ValueError or OSError.
        """
        for number in self._workers:
            self._start(number)
        found = []
        for number, worker in self._workers.items():
            try:
                is_ready, value = worker.pipe.recv()
            except EOFError:
                is_ready, value = False, f"Worker {number} ended before it was ready."
            if not is_ready:
                self.stop(0)
                raise ValueError(value)
            found.append(value)
        return found[0]

    def watch(self, stopped):
        """Replaces workers that end, until the event `stopped` is set."""
        while not stopped.wait(WATCH_SECONDS):
            for number, worker in self._workers.items():
                if not worker.process.is_alive():
                    LOG.error(
                        "Worker %d ended with exit code %d. A new one starts.",
                        number,
                        worker.process.exitcode,
                    )
                    worker.pipe.close()
                    self._start(number)

    def stop(self, seconds):
        """Sends SIGTERM to all workers and waits for them to end; later, they are killed.

        Args:
            seconds: float. Maximum number of seconds to wait.

        Returns:
            bool. `True` if all workers ended with exit code 0.
        """
        processes = [worker.process for worker in self._workers.values()]
        for process in processes:
            process.terminate()
        until = time.monotonic() + seconds
        for process in processes:
            process.join(max(until - time.monotonic(), 0))
            if process.is_alive():
                process.kill()
                process.join()
        return all(process.exitcode == 0 for process in processes)

    def _start(self, number):
        context = multiprocessing.get_context("spawn")  # a fork would copy locks that are held
        own, other = context.Pipe()
        arguments = self._work, number, self._arguments, other
        process = context.Process(target=run_worker, args=arguments, name=f"worker {number}")
        process.start()
        other.close()
        self._workers[number] = Worker(process, own)


def run_worker(work, number, arguments, pipe):
    """Runs in the process of a worker, and sends the error if the worker cannot start."""
    try:
        code = work(number, *arguments, pipe)
    except (ValueError, OSError) as error:
        with contextlib.suppress(OSError):  # the parent no longer listens
            pipe.send((False, str(error)))
        code = 2
    raise SystemExit(code)


def ready_until_stopped(pipe, value, stopped):
    """Reports to the parent that a worker is ready, and waits for the event `stopped`.

    The event is also set when the parent has ended. If it was set before, the process then ends at
    once with exit code 143.

    Args:
        pipe: The pipe of the worker.
        value: Picklable value for `WorkerGroup.start`.
        stopped: `threading.Event`, which the worker's handler of SIGTERM sets.
    """

    def wait_for_parent():
        with contextlib.suppress(EOFError, OSError):
            pipe.recv()
        if stopped.is_set():
            os._exit(143)
        stopped.set()

    threading.Thread(target=wait_for_parent, name="tfreps-parent", daemon=True).start()
    pipe.send((True, value))
    stopped.wait()


def reserved(host, port):
    """Opens a socket that keeps a port for processes that share it, without listening.

    Args:
        host: str. The address.
        port: int. The port. 0 selects a free port.

    Returns:
        The socket.

    Raises:
        ValueError: If this operating system cannot share ports.
        OSError: If the port is in use.
    """
    if not hasattr(socket, "SO_REUSEPORT"):
        raise ValueError(
            "`workers` must be 1 on this operating system, which has no SO_REUSEPORT, so processes "
            "cannot share ports. Start several servers on ports of their own instead."
        )
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    try:
        with socket.socket(family, kind, protocol) as alone:  # fails if others share the port
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind(address)
            address = alone.getsockname()
        found = socket.socket(family, kind, protocol)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        found.bind(address)
    except OSError as error:
        raise OSError(error.errno, f"Cannot listen on {host}:{port}: {error}") from error
    return found
