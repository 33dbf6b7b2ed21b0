"""Calls that wait for a worker."""

import gc
import itertools
import threading
import time
import types

import pytest

from tests.server.test_model_server import wait_for
from tfreps.server.requests import lane as module
from tfreps.server.requests.lane import Lane
from tfreps.server.requests.model_call import ModelCall
from tfreps.server.requests.serving_error import ServingError
from tfreps.server.requests.ticket import Ticket


def call(signature="a", rows=1, ticket=None, client=None):
    return ModelCall(signature, {}, [], rows, ticket or Ticket(20, client=client), write=dict)


class Gate:
    """Function that runs calls once it is opened, and remembers them."""

    def __init__(self):
        self.opened, self.started = threading.Event(), threading.Semaphore(0)
        self.ran = []

    def __call__(self, calls):
        self.ran.append([(each.signature, each.rows) for each in calls])
        self.started.release()
        self.opened.wait(20)
        for each in calls:
            each.write({})
        return calls


@pytest.fixture
def gate():
    gate = Gate()
    yield gate
    gate.opened.set()


def fill(lane, *calls):
    for each in calls:
        lane.submit(each)
    return [each.future for each in calls]


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
    lane = Lane("single", gate, workers=2)
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


def test_the_clients_that_were_answered_are_expected_again(monkeypatch, gate):
    """Two halves of the clients do not alternate, and a client alone never waits."""
    monkeypatch.setattr(module, "PATIENCE", 1e6)
    monkeypatch.setattr(module, "MOST_PATIENCE", 20.0)
    gate.opened.set()
    lane = Lane("batched", gate, most_rows=64)
    for _ in range(5):
        assert [f.result(10) for f in fill(lane, call(client="A"))] == [{}]
    before = len(gate.ran)
    futures = fill(lane, call(client="B"))
    time.sleep(0.05)
    assert len(gate.ran) == before  # A has always asked again, so it is expected
    futures += fill(lane, call(client="A"))
    assert [future.result(20) for future in futures] == [{}] * 2
    assert gate.ran == [[("a", 1)]] * before + [[("a", 1), ("a", 1)]]


@pytest.mark.parametrize("client", ["A", None])
def test_other_clients_are_not_expected(monkeypatch, gate, client):
    """Neither a client that asked only a few times, nor a connection that is not known."""
    monkeypatch.setattr(module, "PATIENCE", 1e6)
    monkeypatch.setattr(module, "MOST_PATIENCE", 20.0)
    gate.opened.set()
    lane = Lane("batched", gate, most_rows=64)
    for _ in range(module.RETURNS):
        assert [f.result(10) for f in fill(lane, call(client=client))] == [{}]
    assert [f.result(10) for f in fill(lane, call(client="B"))] == [{}]
    assert gate.ran == [[("a", 1)]] * (module.RETURNS + 1)


def test_a_client_with_several_requests_at_a_time_is_not_expected(monkeypatch, gate):
    monkeypatch.setattr(module, "PATIENCE", 1e6)
    monkeypatch.setattr(module, "MOST_PATIENCE", 20.0)
    gate.opened.set()
    lane = Lane("batched", gate, most_rows=64)
    for _ in range(2 * module.RETURNS):
        assert [f.result(10) for f in fill(lane, *[call(client="A") for _ in range(2)])] == [{}] * 2
    assert [f.result(10) for f in fill(lane, call(client="B"))] == [{}]


def test_a_client_that_comes_back_at_once_is_one_client(monkeypatch, gate):
    """Its next request arrives while its answer is delivered."""
    monkeypatch.setattr(module, "PATIENCE", 1e6)
    monkeypatch.setattr(module, "MOST_PATIENCE", 20.0)
    gate.opened.set()
    lane = Lane("batched", gate, most_rows=64)
    calls = [call(client="A") for _ in range(module.RETURNS + 3)]
    for one, following in itertools.pairwise(calls):
        one.future.add_done_callback(lambda _, following=following: lane.submit(following))
    lane.submit(calls[0])
    assert calls[-1].future.result(10) == {}


def test_clients_that_do_not_come_back_are_waited_for_once(monkeypatch, gate):
    monkeypatch.setattr(module, "PATIENCE", 1e6)
    monkeypatch.setattr(module, "MOST_PATIENCE", 1.0)
    gate.opened.set()
    lane = Lane("batched", gate, most_rows=64)
    for _ in range(module.RETURNS + 1):
        assert [f.result(20) for f in fill(lane, call(client="A"))] == [{}]
    begin = time.monotonic()
    assert [f.result(20) for f in fill(lane, call(client="B"))] == [{}]
    assert time.monotonic() - begin > 0.1
    monkeypatch.setattr(module, "MOST_PATIENCE", 20.0)
    for _ in range(5):
        assert [f.result(10) for f in fill(lane, call(client="B"))] == [{}]


def test_nobody_has_a_turn_who_does_not_wait(gate):
    lane = Lane("single", gate)
    gone, late, before = Ticket(20), Ticket(0.01), Ticket(20)
    before.cancel()
    fill(lane, call())
    assert gate.started.acquire(timeout=20)
    futures = fill(lane, *(call(ticket=ticket) for ticket in (gone, late, before)))
    gone.cancel()  # leaves the queue at once, as does a call that was cancelled before
    for future in futures[::2]:
        with pytest.raises(ServingError, match="disconnected"):
            future.result(0)
    time.sleep(0.02)
    gate.opened.set()
    with pytest.raises(ServingError, match="took longer than 0.01 seconds"):
        futures[1].result(20)
    assert [f.result(20) for f in fill(lane, call())] == [{}]
    assert len(gate.ran) == 2


def test_only_some_wait(gate):
    lane = Lane("long", gate, most_waiting=1)
    fill(lane, call())
    assert gate.started.acquire(timeout=20)
    fill(lane, call())
    with pytest.raises(ServingError, match="1 long requests are already waiting") as caught:
        lane.submit(call())
    assert caught.value.code == "UNAVAILABLE"


@pytest.mark.parametrize(
    "limits, seconds, is_stuck",
    [((60, 60), 40, False), ((60, 90), 70, False), ((60, 60), 70, True)],
)
def test_stuck_while_all_workers_are_late(gate, monkeypatch, limits, seconds, is_stuck):
    """Clients that wait for only 30 seconds do not count."""
    lane = Lane("single", gate, workers=2)
    fill(lane, *(call(ticket=Ticket(30, limit=limit)) for limit in limits))
    for _ in limits:
        assert gate.started.acquire(timeout=20)
    clock = types.SimpleNamespace(monotonic=lambda: time.monotonic() + seconds)
    monkeypatch.setattr(module, "time", clock)
    assert lane.is_stuck == is_stuck


def test_a_worker_survives_an_error(gate, caplog):
    runs = []

    def run(calls):
        runs.append(calls)
        if len(runs) == 1:
            raise KeyError("a bug")
        return gate(calls)

    gate.opened.set()
    lane = Lane("single", run)
    futures = fill(lane, call(), call())
    assert futures[1].result(20) == {} and isinstance(futures[0].exception(20), KeyError)
    assert "1 single requests failed" in caplog.text


def test_threads_end_with_the_lane(gate):
    gate.opened.set()
    lane = Lane("of this test", gate)
    assert [f.result(20) for f in fill(lane, call())] == [{}]
    named = [t for t in threading.enumerate() if t.name.startswith("tfreps-of this test")]
    assert len(named) == 1
    del lane
    gc.collect()
    wait_for(lambda: not named[0].is_alive())
