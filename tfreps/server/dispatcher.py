"""Dispatcher: takes requests up to a limit, works on them in threads, gives each its time."""

import concurrent.futures
import threading
import time

from tfreps.server.serving_error import ServingError


class Dispatcher:
    """Where the interfaces leave their work.

    Every request that is accepted has a thread at once: most of them wait in TensorFlow's batch
    operation. One that takes longer than allowed is answered with DEADLINE_EXCEEDED; it keeps its
    place until it has ended, so that no more is accepted than the machine can bear.

    Args:
        max_queue: most requests in work at the same time; more get UNAVAILABLE.
        seconds: that a request may take.

    Example:
    >>> dispatcher = Dispatcher(max_queue=2, seconds=10)
    >>> dispatcher.submit(lambda x: x + 1, 1).result()
    2
    """

    def __init__(self, max_queue=256, seconds=60.0):
        self.max_queue = max_queue
        self.seconds = seconds
        self._pool = concurrent.futures.ThreadPoolExecutor(max_queue, "tfreps-request")
        self._changed = threading.Condition()
        self._accepted = 0
        self._closed = False

    @property
    def accepted(self):
        """Requests in work."""
        return self._accepted

    def submit(self, work, *arguments):
        """Starts `work(*arguments)` in a thread.

        Returns:
            `concurrent.futures.Future`.

        Raises:
            ServingError: UNAVAILABLE: too many are in work, or the server is going down.
        """
        with self._changed:
            if self._closed:
                raise ServingError("UNAVAILABLE", "The server is shutting down.")
            if self._accepted >= self.max_queue:
                raise ServingError(
                    "UNAVAILABLE", f"The server has {self._accepted} requests in work: try again."
                )
            self._accepted += 1
        try:
            return self._pool.submit(self._work, work, arguments)
        except BaseException:
            self._leave()
            raise

    def answer(self, work, *arguments, seconds=None):
        """What `work(*arguments)` returns, or raises.

        Args:
            seconds: less time than usual, or None.

        Raises:
            ServingError: UNAVAILABLE; DEADLINE_EXCEEDED.
        """
        limit = self.seconds if seconds is None else min(seconds, self.seconds)
        future = self.submit(work, *arguments)
        try:
            return future.result(limit)
        except concurrent.futures.TimeoutError:
            raise too_late(limit) from None

    def drain(self, seconds):
        """Accepts nothing from now on, and waits for what is in work.

        Returns:
            whether all of it ended in time.
        """
        until = time.monotonic() + seconds
        with self._changed:
            self._closed = True
            while self._accepted and time.monotonic() < until:
                self._changed.wait(until - time.monotonic())
            return not self._accepted

    def close(self):
        """Lets go of the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _work(self, work, arguments):
        try:
            return work(*arguments)
        finally:
            self._leave()

    def _leave(self):
        with self._changed:
            self._accepted -= 1
            self._changed.notify_all()


def too_late(seconds):
    """The error of a request that took longer than this."""
    return ServingError("DEADLINE_EXCEEDED", f"The request took longer than {seconds:g} seconds.")
