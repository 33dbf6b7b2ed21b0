"""The event loop of the servers of a process."""

import asyncio
import concurrent.futures
import threading

import pytest

from tfreps.server.requests.event_loop import Inbox, is_done, on_loop, server_loop


async def where():
    return asyncio.get_running_loop(), threading.current_thread()


def test_one_loop_in_one_thread():
    loop, thread = on_loop(where())
    assert (loop, thread) == on_loop(where()) and loop is server_loop()
    assert thread is not threading.current_thread() and thread.daemon


def test_errors_come_through():
    async def fails():
        raise KeyError("x")

    with pytest.raises(KeyError):
        on_loop(fails())


def test_one_wake_up_for_many():
    called, wakes = [], []

    class Loop:
        def call_soon_threadsafe(self, function):
            wakes.append(function)

    loop = Loop()
    inbox = Inbox(loop)
    for number in range(3):
        inbox.put(lambda number=number: called.append(number))
    assert len(wakes) == 1
    wakes[0]()
    inbox.put(lambda: called.append(3))
    assert called == [0, 1, 2] and len(wakes) == 2
    wakes[1]()
    assert called == [0, 1, 2, 3]


def test_futures_of_other_threads():
    future = concurrent.futures.Future()
    assert asyncio.run(is_done(future, 0.01)) is False
    threading.Timer(0.02, future.set_result, [3]).start()
    assert asyncio.run(is_done(future, 20)) is True
    assert asyncio.run(is_done(future, 0.0)) in (True, False)
