"""Dispatcher: runs a limited number of requests in threads, with a time limit."""

import concurrent.futures
import threading
import time

from tfreps.server.requests.serving_error import ServingError
from tfreps.server.requests.ticket import Ticket, too_late


class Dispatcher:
    """Dispatcher that runs the requests of the gRPC and REST interfaces in threads.

    Every accepted request gets a thread immediately; most of these threads wait in TensorFlow's
    batch operation. A request that exceeds its time limit is answered with DEADLINE_EXCEEDED and
    cancelled. It counts as in progress until it has ended, so that the machine is not overloaded.

    Args:
        max_queue: int. Maximum number of requests in progress. Further requests are rejected with
            UNAVAILABLE. Defaults to 256.
        seconds: float. Time limit of a request in seconds. Defaults to 60.0.

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
        """The `Ticket` of the request that the calling thread processes.

        In a thread that does not process a request, this property returns a new `Ticket`.
        """
        return getattr(self._local, "ticket", None) or self.new_ticket()

    def new_ticket(self, seconds=None):
        """Returns a `Ticket` for a request.

        Args:
            seconds: float. Seconds that the client waits for the answer. If `None` or larger than
                the time limit of the server, that limit is used.
        """
        limit = self.seconds if seconds is None else min(seconds, self.seconds)
        return Ticket(limit, self.seconds)

    @property
    def accepted(self):
        """The number of requests in progress."""
        return self._accepted

    def submit(self, work, *arguments, ticket=None):
        """Starts `work(*arguments)` in a thread.

        Args:
            work: The function to run.
            *arguments: Positional arguments of `work`.
            ticket: The `Ticket` of the request. If `None`, a new one is created.

        Returns:
            A `concurrent.futures.Future` with the result or the error of `work`.

        Raises:
            ServingError: UNAVAILABLE if `max_queue` requests are in progress, or the server is
                shutting down.
        """
        with self._changed:
            if self._closed:
                raise ServingError("UNAVAILABLE", "The server is shutting down.")
            if self._accepted >= self.max_queue:
                raise ServingError(
                    "UNAVAILABLE",
                    f"{self._accepted} requests are in progress, the maximum (server option "
                    "`max_queue`). Try again later.",
                )
            self._accepted += 1
        try:
            return self._pool.submit(self._work, work, arguments, ticket or self.new_ticket())
        except BaseException:
            self._leave()
            raise

    def answer(self, work, *arguments, ticket=None):
        """Runs `work(*arguments)` in a thread and returns its result or raises its error.

        Args:
            work: The function to run.
            *arguments: Positional arguments of `work`.
            ticket: The `Ticket` of the request. If `None`, a new one is created.

        Raises:
            ServingError: UNAVAILABLE if `submit` rejects the request; DEADLINE_EXCEEDED if the
                time limit of the ticket is exceeded; CANCELLED if the ticket was cancelled before
                `work` started.
        """
        ticket = ticket or self.new_ticket()
        future = self.submit(work, *arguments, ticket=ticket)
        try:
            return future.result(ticket.remaining)
        except concurrent.futures.TimeoutError:
            ticket.cancel()
            raise too_late(ticket.seconds) from None

    def drain(self, seconds):
        """Rejects new requests and waits for the requests in progress to end.

        Args:
            seconds: float. Maximum number of seconds to wait.

        Returns:
            bool. `True` if all requests ended in time.
        """
        until = time.monotonic() + seconds
        with self._changed:
            self._closed = True
            while self._accepted and time.monotonic() < until:
                self._changed.wait(until - time.monotonic())
            return not self._accepted

    def close(self):
        """Releases the threads, without waiting for the requests in progress."""
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
