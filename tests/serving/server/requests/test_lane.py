"""Tests the queue of calls that wait for a thread."""

import asyncio
import threading
import time
import types

import pytest

from tfreps.serving.server.requests import lane as module
from tfreps.serving.server.requests.call import Call
from tfreps.serving.server.requests.event_loop import server_loop
from tfreps.serving.server.requests.lane import Lane
from tfreps.serving.server.requests.serving_error import ServingError


def call(signature="a", rows=1, seconds=20, limit=None):
    call = Call(seconds, limit)
    call.signature, call.rows = signature, rows
    return call


class Gate:
    """Function that runs calls once it is opened, and records them."""

    def __init__(self):
        self.opened, self.started = threading.Event(), threading.Semaphore(0)
        self.ran = []

    def __call__(self, calls):
        self.ran.append([(each.signature, each.rows) for each in calls])
        self.started.release()
        self.opened.wait(20)
        return [{} for _ in calls]


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.opened.set()


def fill(lane, *calls):
    """Submits calls in order before any of them runs; returns their futures."""

    async def submit():
        return [asyncio.ensure_future(lane.run(each)) for each in calls]

    async def result(task):
        return await task

    tasks = asyncio.run_coroutine_threadsafe(submit(), server_loop()).result()
    return [asyncio.run_coroutine_threadsafe(result(task), server_loop()) for task in tasks]


def test_calls_gather_while_the_batch_before_them_runs(gate):
    lane = Lane("batched", gate, most_rows=4)
    calls = [call(), call(), call("b"), call(rows=3), call(rows=2), call("b")]
    futures = fill(lane, calls[0])
    assert gate.started.acquire(timeout=20)
    futures += fill(lane, *calls[1:])
    gate.opened.set()
    assert [future.result(20) for future in futures] == [{}] * 6
    # The first call runs at once; the next batch has the waiting calls that fit.
    assert gate.ran == [[("a", 1)], [("a", 1), ("a", 3)], [("b", 1), ("b", 1)], [("a", 2)]]


def test_a_call_with_more_rows_than_a_batch_runs_alone(gate):
    gate.opened.set()
    lane = Lane("batched", gate, most_rows=4)
    assert [f.result(20) for f in fill(lane, call(rows=9))] == [{}]
    assert gate.ran == [[("a", 9)]]


def test_so_many_at_the_same_time_and_no_more(gate):
    lane = Lane("single", gate, threads=2)
    futures = fill(lane, *(call() for _ in range(5)))
    for _ in range(2):
        assert gate.started.acquire(timeout=20)
    time.sleep(0.05)
    assert gate.ran == [[("a", 1)]] * 2
    gate.opened.set()
    assert [future.result(20) for future in futures] == [{}] * 5
    assert gate.ran == [[("a", 1)]] * 5


def test_a_batch_waits_for_more_calls_until_it_is_full(gate):
    gate.opened.set()
    lane = Lane("batched", gate, most_rows=2, wait_seconds=20.0)
    begin = time.monotonic()
    futures = fill(lane, call())
    time.sleep(0.05)
    assert gate.ran == []
    futures += fill(lane, call())
    assert [future.result(20) for future in futures] == [{}] * 2
    assert gate.ran == [[("a", 1), ("a", 1)]] and time.monotonic() - begin < 10
    lane = Lane("batched", gate, most_rows=2, wait_seconds=0.01)
    assert [f.result(20) for f in fill(lane, call())] == [{}]


def test_a_cancelled_call_leaves_the_queue(gate):
    lane = Lane("single", gate)
    gone, before = call(), call()
    before.cancel()
    first = fill(lane, call())
    assert gate.started.acquire(timeout=20)
    futures = fill(lane, gone, before)
    server_loop().call_soon_threadsafe(gone.cancel)
    for future in futures:
        with pytest.raises(ServingError, match="disconnected"):
            future.result(20)
    gate.opened.set()
    assert [f.result(20) for f in first + fill(lane, call())] == [{}] * 2
    assert len(gate.ran) == 2


def test_only_some_wait(gate):
    lane = Lane("long", gate, most_waiting=1)
    *_, rejected = fill(lane, call(), call(), call())
    with pytest.raises(ServingError, match="1 long requests are already waiting") as caught:
        rejected.result(20)
    assert caught.value.code == "UNAVAILABLE"


@pytest.mark.parametrize(
    "limits, seconds, is_stuck",
    [((60, 60), 40, False), ((60, 90), 70, False), ((60, 60), 70, True)],
)
def test_stuck_while_all_threads_are_late(gate, monkeypatch, limits, seconds, is_stuck):
    """The server's limit decides, not the 30 seconds that a client waits."""
    lane = Lane("single", gate, threads=2)
    fill(lane, *(call(seconds=30, limit=limit) for limit in limits))
    for _ in limits:
        assert gate.started.acquire(timeout=20)
    clock = types.SimpleNamespace(monotonic=lambda: time.monotonic() + seconds)
    monkeypatch.setattr(module, "time", clock)
    assert lane.is_stuck == is_stuck


def test_errors_of_one_call(gate):
    gate.opened.set()
    lane = Lane("batched", lambda calls: [ValueError("no"), *gate(calls[1:])], most_rows=2)
    futures = fill(lane, *(call() for _ in range(3)))  # the first call runs at once
    assert [str(futures[n].exception(20)) for n in (0, 1)] == ["no"] * 2
    assert futures[2].result(20) == {}
