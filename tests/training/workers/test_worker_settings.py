"""Tests the addresses, environment variables and output of workers on this machine."""

import io
import json
import os
import socket
import threading

import pytest

from tfreps.training.workers.cluster import Cluster, check_port_is_free
from tfreps.training.workers.local_workers import (
    LONGEST_LINE,
    copy_lines,
    local_addresses,
    threads_per_worker,
    worker_environ,
)


def ports_of(addresses):
    return [int(address.removeprefix("127.0.0.1:")) for address in addresses]


def free_block(count):
    """Returns the first of consecutive ports that are free."""
    for first in range(20_000, 30_000, count):
        try:
            return ports_of(local_addresses(count, first))[0]
        except ValueError:
            continue
    raise AssertionError("no free ports")


def test_ports_are_free_and_differ():
    addresses = local_addresses(20)
    assert len(set(ports_of(addresses))) == 20
    for address in addresses:
        check_port_is_free(address)


def test_consecutive_ports():
    first = free_block(3)
    assert ports_of(local_addresses(3, first)) == [first, first + 1, first + 2]
    with socket.create_server(("127.0.0.1", first + 2)):
        with pytest.raises(ValueError, match=f"Port {first + 2} of this worker .* must be free"):
            local_addresses(3, first)
        assert len(local_addresses(2, first)) == 2


def test_ports_end():
    with pytest.raises(ValueError, match="`port` must be at most 65533 with 3 workers.* 65534"):
        local_addresses(3, 65534)


def test_variables_of_a_worker():
    before = {"PATH": "/bin", "TF_CONFIG": "old"}
    cluster = Cluster(("127.0.0.1:1", "127.0.0.1:2"), 1)
    found = worker_environ(before, cluster, threads=3)
    assert json.loads(found.pop("TF_CONFIG")) == {
        "cluster": {"worker": ["127.0.0.1:1", "127.0.0.1:2"]},
        "task": {"type": "worker", "index": 1},
    }
    assert found == {
        "PATH": "/bin",
        "TF_NUM_INTRAOP_THREADS": "3",
        "TF_NUM_INTEROP_THREADS": "3",
        "OMP_NUM_THREADS": "3",
        "no_grpc_proxy": "127.0.0.1",
        "PYTHONUNBUFFERED": "1",
    }
    assert before["TF_CONFIG"] == "old"


@pytest.mark.parametrize(
    "before, after",
    [
        ({"no_proxy": "a,b"}, "a,b,127.0.0.1"),
        ({"no_proxy": "a", "no_grpc_proxy": "c"}, "c,127.0.0.1"),
        ({"no_proxy": ""}, "127.0.0.1"),
    ],
)
def test_workers_reach_each_other_without_a_proxy(before, after):
    assert worker_environ(before, Cluster(("a:1",), 0), 1)["no_grpc_proxy"] == after


def test_variables_that_are_set_stay():
    given = {"TF_NUM_INTRAOP_THREADS": "8", "PYTHONUNBUFFERED": ""}
    found = worker_environ(given, Cluster(("a:1", "b:1"), 1), 2)
    assert found["TF_NUM_INTRAOP_THREADS"] == "8" and found["OMP_NUM_THREADS"] == "2"
    assert found["PYTHONUNBUFFERED"] == ""


def test_workers_share_the_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert [threads_per_worker(count) for count in (1, 2, 3, 8, 9)] == [8, 4, 2, 1, 1]
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 6)
    assert threads_per_worker(2) == 3


class Terminal(io.BytesIO):
    def isatty(self):
        return True


class Lost(io.BytesIO):
    """File whose reader has ended."""

    calls = 0

    def write(self, data):
        self.calls += 1
        raise BrokenPipeError


def joined(text, target=None):
    target = io.BytesIO() if target is None else target
    copy_lines(io.BytesIO(text), target, b"<1> ", threading.Lock())
    return target.getvalue()


def test_every_line_has_its_prefix():
    assert joined(b"a\n\n  b \xff\r\nend") == b"<1> a\n<1> \n<1>   b \xff\r\n<1> end\n"
    assert joined(b"") == b""


def test_a_long_line_is_split():
    lines = joined(b"x" * (LONGEST_LINE + 10) + b"\ny").splitlines()
    assert lines == [b"<1> " + b"x" * LONGEST_LINE, b"<1> " + b"x" * 10, b"<1> y"]


def test_a_line_replaces_progress_on_a_terminal():
    assert joined(b"a\nb\n", target=Terminal()) == b"\r\x1b[K<1> a\n\r\x1b[K<1> b\n"


def test_sources_are_read_to_their_end_when_the_output_is_lost():
    target, source = Lost(), io.BytesIO(b"line\n" * 100)
    copy_lines(source, target, b"", threading.Lock())
    assert target.calls == 1 and source.closed


def test_a_line_appears_before_the_source_ends():
    written = threading.Event()

    class Watched(io.BytesIO):
        def flush(self):
            written.set()

    ends, target = os.pipe(), Watched()
    given = os.fdopen(ends[0], "rb"), target, b"> ", threading.Lock()
    thread = threading.Thread(target=copy_lines, args=given)
    thread.start()
    os.write(ends[1], b"now\nlater")
    assert written.wait(10) and target.getvalue() == b"> now\n"
    os.close(ends[1])
    thread.join(10)
    assert target.getvalue() == b"> now\n> later\n"
