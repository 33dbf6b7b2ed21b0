"""Processes that are started, watched and stopped together."""

import os
import signal
import socket
import threading

import pytest

from tests.server.test_model_server import wait_for
from tfreps.server import worker_group
from tfreps.server.worker_group import WorkerGroup, ready_until_stopped, reserved


def serve(number, folder, pipe):
    """Writes its process id into a file, and waits."""
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    with open(os.path.join(folder, f"{number}-{os.getpid()}"), "w"):
        pass
    ready_until_stopped(pipe, f"I am {number}", stopped)
    return 0


def fail(number, folder, pipe):
    if number == 2:
        raise ValueError("no model")
    return serve(number, folder, pipe)


def die(number, folder, pipe):
    os._exit(9)


def hang(number, folder, pipe):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ready_until_stopped(pipe, None, threading.Event())


def ids(folder, number):
    return [int(path.name.split("-")[1]) for path in folder.glob(f"{number}-*")]


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_whole_life(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(worker_group, "WATCH_SECONDS", 0.05)
    group = WorkerGroup(2, serve, str(tmp_path))
    assert group.start() == "I am 1"
    stopped = threading.Event()
    thread = threading.Thread(target=group.watch, args=[stopped])
    thread.start()
    (first,) = ids(tmp_path, 2)
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: len(ids(tmp_path, 2)) == 2)
    assert "Worker 2 ended with exit code -9. A new one starts." in caplog.text
    group._workers[2].pipe.recv()  # is ready
    stopped.set()
    thread.join()
    assert group.stop(20)
    assert not any(map(is_running, ids(tmp_path, 1) + ids(tmp_path, 2)))
    assert len(ids(tmp_path, 1)) == 1


def test_a_worker_that_cannot_start_ends_the_others(tmp_path):
    with pytest.raises(ValueError, match="^no model$"):
        WorkerGroup(2, fail, str(tmp_path)).start()
    assert not any(map(is_running, ids(tmp_path, 1)))
    with pytest.raises(ValueError, match="Worker 1 ended before it was ready"):
        WorkerGroup(1, die, str(tmp_path)).start()


@pytest.mark.slow
def test_a_worker_that_does_not_end_is_killed(tmp_path):
    group = WorkerGroup(1, hang, str(tmp_path))
    assert group.start() is None
    assert not group.stop(0.1)


@pytest.mark.slow
def test_workers_end_with_their_parent(tmp_path):
    """Closing the pipe has the same effect as the end of the parent."""
    group = WorkerGroup(1, serve, str(tmp_path))
    group.start()
    (pid,) = ids(tmp_path, 1)
    group._workers[1].pipe.close()
    group._workers[1].process.join(20)
    assert not is_running(pid) and group._workers[1].process.exitcode == 0


def test_a_port_is_reserved_for_those_who_share_it():
    with reserved("127.0.0.1", 0) as kept:
        address = kept.getsockname()
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(address)
        with socket.socket() as shares:
            shares.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            shares.bind(address)
            shares.listen()
            with pytest.raises(OSError, match="Cannot listen on 127.0.0.1"):
                reserved(*address)
            with socket.create_connection(address, timeout=20):
                shares.accept()[0].close()


def test_without_shared_ports(monkeypatch):
    monkeypatch.delattr(socket, "SO_REUSEPORT")
    with pytest.raises(ValueError, match="`workers` must be 1 on this operating system"):
        reserved("127.0.0.1", 0)
