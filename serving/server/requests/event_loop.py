"""server_loop: the event loop on which all servers of this process run."""

import asyncio
import functools
import threading


@functools.cache
def server_loop() -> asyncio.AbstractEventLoop:
    """Returns the event loop, which runs in a daemon thread from the first call on.

    All servers of a process share this loop, because gRPC has a single event queue per process.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="tfreps-loop", daemon=True).start()
    return loop


def on_loop(coroutine):
    """Runs a coroutine on `server_loop()` and returns its result.

    Do not call this function in the thread of the loop, because it would block that thread.
    """
    return asyncio.run_coroutine_threadsafe(coroutine, server_loop()).result()
