"""Limits of the number and time of requests."""

import asyncio
import concurrent.futures
import threading
import time

import pytest

from tfreps.server.requests.dispatcher import Dispatcher
from tfreps.server.requests.serving_error import ServingError


def answer(dispatcher, *given, **options):
    return asyncio.run(dispatcher.answer(*given, **options))


@pytest.mark.parametrize("in_thread", [True, False])
def test_answers_and_errors_come_through(in_thread):
    dispatcher = Dispatcher(4, 10)
    assert answer(dispatcher, max, 3, 4, in_thread=in_thread) == 4
    with pytest.raises(ZeroDivisionError):
        answer(dispatcher, lambda: 1 / 0, in_thread=in_thread)
    assert dispatcher.accepted == 0
    name = answer(dispatcher, lambda: threading.current_thread().name, in_thread=in_thread)
    assert name.startswith("tfreps-request") == in_thread


@pytest.mark.parametrize("in_thread", [True, False])
def test_an_answer_that_is_computed_elsewhere(in_thread):
    """The request is in progress until its future has ended."""
    dispatcher = Dispatcher(4, 10)
    for end in (lambda f: f.set_result(3), lambda f: f.set_exception(ValueError("no"))):
        elsewhere = concurrent.futures.Future()
        outcome = dispatcher.submit(lambda f=elsewhere: f, in_thread=in_thread)
        time.sleep(0.01)
        assert dispatcher.accepted == 1 and not outcome.done()
        end(elsewhere)
        if elsewhere.exception() is None:
            assert outcome.result(20) == 3
        else:
            assert str(outcome.exception(20)) == "no"
        assert dispatcher.accepted == 0


def test_the_ticket_of_the_request():
    dispatcher = Dispatcher(4, 10)
    ticket = dispatcher.new_ticket(3)
    for in_thread in (True, False):
        found = dispatcher.submit(lambda: dispatcher.ticket, ticket=ticket, in_thread=in_thread)
        assert found.result(20) is ticket
    assert dispatcher.ticket is not ticket


def test_too_many_are_refused_and_those_accepted_answered():
    dispatcher = Dispatcher(2, 10)
    go_on = threading.Event()
    futures = [dispatcher.submit(go_on.wait, 10) for _ in range(2)]
    with pytest.raises(ServingError, match="2 requests are in progress") as caught:
        dispatcher.submit(print)
    assert caught.value.code == "UNAVAILABLE"
    go_on.set()
    assert [future.result() for future in futures] == [True, True]
    assert answer(dispatcher, max, 1, 2) == 2


def test_time_is_limited_and_the_place_kept():
    dispatcher = Dispatcher(1, 0.05)
    go_on = threading.Event()
    for seconds in (None, 0.01):
        with pytest.raises(ServingError) as caught:
            answer(dispatcher, go_on.wait, 10, ticket=dispatcher.new_ticket(seconds))
        assert caught.value.code == ("DEADLINE_EXCEEDED" if seconds is None else "UNAVAILABLE")
    assert dispatcher.accepted == 1
    go_on.set()
    assert dispatcher.drain(10)
    assert dispatcher.accepted == 0


def test_a_task_that_is_cancelled_cancels_its_ticket():
    dispatcher = Dispatcher(1, 10)
    ticket, elsewhere = dispatcher.new_ticket(), concurrent.futures.Future()
    ticket.add_callback(lambda: elsewhere.set_exception(ServingError("CANCELLED", "gone")))

    async def leave():
        work = dispatcher.answer(lambda: elsewhere, ticket=ticket, in_thread=False)
        task = asyncio.create_task(work)
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())
    assert ticket.is_cancelled and dispatcher.accepted == 0


def test_draining():
    dispatcher = Dispatcher(4, 10)
    future = dispatcher.submit(time.sleep, 0.1)
    assert not dispatcher.drain(0)
    with pytest.raises(ServingError, match="shutting down"):
        dispatcher.submit(print)
    assert dispatcher.drain(10) and future.done()
    dispatcher.close()
