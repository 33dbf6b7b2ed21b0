"""Limits of the number and time of requests."""

import threading
import time

import pytest

from tfreps.server.requests.dispatcher import Dispatcher
from tfreps.server.requests.serving_error import ServingError


def test_answers_and_errors_come_through():
    dispatcher = Dispatcher(4, 10)
    assert dispatcher.answer(max, 3, 4) == 4
    with pytest.raises(ZeroDivisionError):
        dispatcher.answer(lambda: 1 / 0)
    assert dispatcher.accepted == 0


def test_too_many_are_refused_and_those_accepted_answered():
    dispatcher = Dispatcher(2, 10)
    go_on = threading.Event()
    futures = [dispatcher.submit(go_on.wait, 10) for _ in range(2)]
    with pytest.raises(ServingError, match="2 requests are in progress") as caught:
        dispatcher.submit(print)
    assert caught.value.code == "UNAVAILABLE"
    go_on.set()
    assert [future.result() for future in futures] == [True, True]
    assert dispatcher.answer(max, 1, 2) == 2


def test_time_is_limited_and_the_place_kept():
    dispatcher = Dispatcher(1, 0.05)
    go_on = threading.Event()
    for seconds in (None, 0.01):
        with pytest.raises(ServingError) as caught:
            dispatcher.answer(go_on.wait, 10, ticket=dispatcher.new_ticket(seconds))
        assert caught.value.code == ("DEADLINE_EXCEEDED" if seconds is None else "UNAVAILABLE")
    assert dispatcher.accepted == 1
    go_on.set()
    assert dispatcher.drain(10)
    assert dispatcher.accepted == 0


def test_draining():
    dispatcher = Dispatcher(4, 10)
    future = dispatcher.submit(time.sleep, 0.1)
    assert not dispatcher.drain(0)
    with pytest.raises(ServingError, match="shutting down"):
        dispatcher.submit(print)
    assert dispatcher.drain(10) and future.done()
    dispatcher.close()
