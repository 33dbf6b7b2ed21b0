"""Requests that wait for a free slot."""

import threading
import time

import pytest

from tests.server.small_models import at_the_same_time
from tfreps.server.requests import lane as module
from tfreps.server.requests.lane import Lane
from tfreps.server.requests.serving_error import ServingError
from tfreps.server.requests.ticket import Ticket


def test_so_many_at_the_same_time_and_no_more():
    lane, running, most = Lane("single", 2), [], []

    def work(number):
        with lane.turn(Ticket(20)):
            running.append(number)
            most.append(len(running))
            time.sleep(0.01)
            running.remove(number)

    with at_the_same_time(work, 8):
        pass
    assert max(most) == 2 and len(most) == 8


def refused(lane, ticket):
    with pytest.raises(ServingError) as caught, lane.turn(ticket):
        pytest.fail("had its turn")
    return caught.value.code


def test_nobody_has_a_turn_who_does_not_wait():
    lane, gone = Lane("single", 1), Ticket(20)
    with lane.turn(Ticket(20)):
        assert refused(lane, Ticket(0.01)) == "DEADLINE_EXCEEDED"
        threading.Timer(0.05, gone.cancel).start()
        begin = time.monotonic()
        assert refused(lane, gone) == "CANCELLED"
        assert time.monotonic() - begin < 10
    assert refused(lane, gone) == "CANCELLED"
    with lane.turn(Ticket(1)):
        pass


def test_only_some_wait():
    lane = Lane("long", 1, most_waiting=1)
    entered, go_on = threading.Event(), threading.Event()

    def work(number):
        with lane.turn(Ticket(20)):
            entered.set()
            go_on.wait(20)

    with at_the_same_time(work, 2):
        assert entered.wait(20)
        while len(lane._waiting) < 1:
            time.sleep(0.001)
        with pytest.raises(ServingError, match="1 long requests are already waiting") as caught:
            with lane.turn(Ticket(20)):
                pass
        assert caught.value.code == "UNAVAILABLE"
        go_on.set()


def test_stuck_while_all_workers_are_late(monkeypatch):
    monkeypatch.setattr(module, "SLACK", 0.0)
    lane = Lane("batched", 4, workers=2)
    with lane.turn(Ticket(0.01)), lane.turn(Ticket(60)):
        time.sleep(0.02)
        assert not lane.is_stuck
        with lane.turn(Ticket(0.01, limit=60)):  # a client with a short time limit
            time.sleep(0.02)
            assert not lane.is_stuck
        with lane.turn(Ticket(0.01)):
            time.sleep(0.02)
            assert lane.is_stuck
        assert not lane.is_stuck
