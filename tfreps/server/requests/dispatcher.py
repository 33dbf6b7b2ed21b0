"""Dispatcher: accepts requests up to a limit, and works on them in threads with a time limit."""

import concurrent.futures
import threading
import time

from tfreps.server.requests.serving_error import ServingError
from tfreps.server.requests.ticket import Ticket, too_late


class Dispatcher:
    """Accepts the work of both interfaces and runs it in threads.

    Every request that is accepted has a thread at once: most of them wait in TensorFlow's batch
    operation. One that takes longer than allowed is answered with DEADLINE_EXCEEDED and cancelled;
    it keeps its place until it has ended, so that no more is accepted than the machine can bear.

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
        self._local = threading.local()

    @property
    def ticket(self):
        """The `Ticket` of the request that the calling thread works on, or a new one."""
        return getattr(self._local, "ticket", None) or self.new_ticket()

    def new_ticket(self, seconds=None):
        """A `Ticket` for a request whose client waits so many seconds, None for no end."""
        limit = self.seconds if seconds is None else min(seconds, self.seconds)
        return Ticket(limit, self.seconds)

    @property
    def accepted(self):
        """Number of requests in work."""
        return self._accepted

    def submit(self, work, *arguments, ticket=None):
        """Starts `work(*arguments)` in a thread, where `ticket` is the request's.

        Args:
            ticket: a `Ticket`; a new one for None.

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
            return self._pool.submit(self._work, work, arguments, ticket or self.new_ticket())
        except BaseException:
            self._leave()
            raise

    def answer(self, work, *arguments, ticket=None):
        """Returns the result of `work(*arguments)`, or raises its error.

        Args:
            ticket: a `Ticket`; a new one for None.

        Raises:
            ServingError: UNAVAILABLE; DEADLINE_EXCEEDED.
        """
        ticket = ticket or self.new_ticket()
        future = self.submit(work, *arguments, ticket=ticket)
        try:
            return future.result(ticket.remaining)
        except concurrent.futures.TimeoutError:
            ticket.cancel()
            raise too_late(ticket.seconds) from None

    def drain(self, seconds):
        """Accepts nothing more, and waits for the requests in work.

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
        """Releases the threads."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _work(self, work, arguments, ticket):
        self._local.ticket = ticket
        try:
            ticket.check()
            return work(*arguments)
        finally:
            self._local.ticket = None
            self._leave()

    def _leave(self):
        with self._changed:
            self._accepted -= 1
            self._changed.notify_all()
