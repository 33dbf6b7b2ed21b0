"""Lane: queue of model calls, which a limited number of threads run in order."""

import asyncio
import concurrent.futures
import functools
import time

from tfreps.serving.server.requests.serving_error import ServingError

SLACK = 1.0  # a call counts as stuck if it exceeds its time limit by this number of seconds


class Lane:
    """Queue of `Call`s of one kind, of which a limited number run concurrently.

    A free thread takes the first call in the queue and the other waiting calls of the same
    signature that fit into a batch. Calls that arrive while all threads are busy can therefore be
    merged. A call whose client has disconnected leaves the queue without running. All methods must
    be called on one event loop.

    Args:
        name: str. The name of this kind of call in error messages, such as `"long"`.
        run: callable. Function that takes a list of calls of one signature and returns a list with
            the response or the exception of each call. It runs in a thread of this queue.
        threads: int. Maximum number of batches that run concurrently. Defaults to 1.
        most_rows: int. Maximum number of rows in a batch of several calls. If 0, each call runs
            alone. Defaults to 0.
        most_waiting: int. Maximum number of waiting calls. Further calls are rejected with
            UNAVAILABLE. Defaults to 1,000.
        wait_seconds: float. Seconds that a free thread waits until a batch is full. Defaults to
            0.0.
    """

    def __init__(self, name, run, threads=1, most_rows=0, most_waiting=1_000, wait_seconds=0.0):
        self._name = name
        self._run = run
        self._threads = threads
        self._most_rows = most_rows
        self._most_waiting = most_waiting
        self._wait_seconds = wait_seconds
        self._waiting = {}  # call -> future of its response, in the order of arrival
        self._running = {}  # future of the thread -> time after which its calls count as stuck
        self._timer = None
        # The threads of the pool end when this lane is no longer referenced.
        self._pool = concurrent.futures.ThreadPoolExecutor(threads, f"tfreps-{name}")

    @property
    def is_stuck(self):
        """`True` if every thread runs a call that exceeded its time limit by more than 1 second."""
        now = time.monotonic()
        return sum(late < now for late in self._running.values()) >= self._threads

    async def run(self, call):
        """Adds a call to the queue, waits until it has run, and returns its response.

        Raises the error of the call, or a ServingError if the queue is full.
        """
        call.check()
        if len(self._waiting) >= self._most_waiting:
            raise ServingError(
                "UNAVAILABLE",
                f"At most {self._most_waiting} {self._name} requests may wait; "
                f"{len(self._waiting)} {self._name} requests are already waiting. Try again later.",
            )
        future = self._waiting[call] = asyncio.get_running_loop().create_future()
        call.on_cancel = functools.partial(self._drop, call)
        self._start()
        try:
            return await future
        finally:
            call.on_cancel = None

    def _start(self, is_due=False):
        """Starts waiting calls while a thread is free.

        If `is_due` is `False`, the calls first wait up to `wait_seconds` for a full batch.
        """
        loop = asyncio.get_running_loop()
        while self._waiting and len(self._running) < self._threads:
            is_full = sum(call.rows for call in self._waiting) >= self._most_rows
            if self._wait_seconds and not is_due and not is_full:
                if self._timer is None:
                    self._timer = loop.call_later(self._wait_seconds, self._end_wait)
                return
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            is_due = False
            chosen = self._take()
            done = loop.run_in_executor(self._pool, self._run, list(chosen))
            self._running[done] = time.monotonic() + max(call.limit for call in chosen) + SLACK
            done.add_done_callback(functools.partial(self._deliver, list(chosen.values())))

    def _end_wait(self):
        self._timer = None
        self._start(is_due=True)

    def _take(self):
        """Removes the calls of the next batch from the queue.

        Returns a dict from these calls to their futures.
        """
        chosen = []
        rows = 0
        for call in self._waiting:
            is_alike = not chosen or call.signature == chosen[0].signature
            if is_alike and (not chosen or rows + call.rows <= self._most_rows):
                chosen.append(call)
                rows += call.rows
            if rows >= self._most_rows:
                break
        return {call: self._waiting.pop(call) for call in chosen}

    def _deliver(self, futures, done):
        """Passes the responses of finished calls to `futures`, and starts waiting calls.

        `done` is the future of the thread that ran the calls.
        """
        del self._running[done]
        for future, response in zip(futures, done.result(), strict=True):
            if isinstance(response, Exception):
                future.set_exception(response)
            else:
                future.set_result(response)
        self._start()

    def _drop(self, call):
        """Removes a cancelled call from the queue; its `run` then raises a ServingError."""
        future = self._waiting.pop(call, None)
        if future is not None:
            future.set_exception(ServingError("CANCELLED", "The client has disconnected."))
