"""server_loop: the event loop on which all servers of this process answer requests."""

import asyncio
import functools
import threading
import weakref


@functools.cache
def server_loop() -> asyncio.AbstractEventLoop:
    """Returns the event loop, which runs in a daemon thread from the first call on.

    All servers of a process share it, since gRPC shares the queue of its events among the loops of
    a process.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="tfreps-loop", daemon=True).start()
    return loop


def on_loop(coroutine):
    """Runs a coroutine on `server_loop()` and returns its result. Must not be called there.

    Example:
    >>> on_loop(asyncio.sleep(0, "done"))
    'done'
    """
    return asyncio.run_coroutine_threadsafe(coroutine, server_loop()).result()


class Inbox:
    """Functions that other threads leave for an event loop, which wakes up once for many of them.

    With `loop.call_soon_threadsafe`, each of them would wake the loop, and interrupt its thread.

    Args:
        loop: The event loop.
    """

    def __init__(self, loop):
        self._loop = weakref.proxy(loop)
        self._lock = threading.Lock()
        self._functions = []

    def put(self, function):
        """Lets the loop call `function()` soon."""
        with self._lock:
            self._functions.append(function)
            is_first = len(self._functions) == 1
        if is_first:
            self._loop.call_soon_threadsafe(self._empty)

    def _empty(self):
        with self._lock:
            functions = self._functions
            self._functions = []
        for function in functions:
            function()


INBOXES = weakref.WeakKeyDictionary()  # event loop -> its `Inbox`


async def is_done(future, seconds):
    """Waits for a future of another thread.

    Args:
        future: `concurrent.futures.Future`.
        seconds: float. Maximum number of seconds to wait.

    Returns:
        bool. `True` if the future is done, and `False` if the time is up.
    """
    loop = asyncio.get_running_loop()
    inbox = INBOXES.setdefault(loop, Inbox(loop))
    waiting = loop.create_future()

    def wake():
        if not waiting.done():
            waiting.set_result(True)

    future.add_done_callback(lambda _: inbox.put(wake))
    timer = loop.call_later(seconds, lambda: waiting.done() or waiting.set_result(False))
    try:
        return await waiting
    finally:
        timer.cancel()
