"""Tests the event loop that all servers of a process share."""

import asyncio
import threading

import pytest

from tfreps.serving.server.requests.event_loop import on_loop, server_loop


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
