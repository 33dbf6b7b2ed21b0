"""Dispatcher: limits the number and the time of the requests in progress."""

import concurrent.futures
import functools
import threading
import time

from tfreps.server.requests.event_loop import is_done
from tfreps.server.requests.serving_error import ServingError
from tfreps.server.requests.ticket import Ticket, too_late

SMALL = 2**14  # bytes of a request up to which it is read on the event loop, not in a thread


class Dispatcher:
    """Dispatcher of the requests of the gRPC and REST interfaces.

    A request is accepted, started, and then waits for its answer without a thread. A request that
    exceeds its time limit is answered with DEADLINE_EXCEEDED and cancelled. It counts as in
    progress until it has ended, so that the machine is not overloaded.

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

    def new_ticket(self, seconds=None, client=None):
        """Returns a `Ticket` for a request.

        Args:
            seconds: float. Seconds that the client waits for the answer. If `None` or larger than
                the time limit of the server, that limit is used.
            client: Hashable value that identifies the connection of the client, or `None`.
        """
        limit = self.seconds if seconds is None else min(seconds, self.seconds)
        return Ticket(limit, self.seconds, client)

    @property
    def accepted(self):
        """The number of requests in progress."""
        return self._accepted

    def submit(self, work, *arguments, ticket=None, in_thread=True):
        """Starts `work(*arguments)`.

        Args:
            work: The function to run. It returns an answer, or a `concurrent.futures.Future` with
                an answer that is computed elsewhere. The request then ends with this future.
            *arguments: Positional arguments of `work`.
            ticket: The `Ticket` of the request. If `None`, a new one is created.
            in_thread: bool. Whether `work` runs in a thread of its own. If `False`, it runs in the
                calling thread, and must not take long. Defaults to `True`.

        Returns:
            A `concurrent.futures.Future` with the answer or the error of `work`. It cannot be
            cancelled; cancel the ticket instead.

        Raises:
            ServingError: UNAVAILABLE if `max_queue` requests are in progress, or the server is
                shutting down.
        """
        self._enter()
        outcome = concurrent.futures.Future()
        outcome.set_running_or_notify_cancel()
        job = functools.partial(self._work, outcome, work, arguments, ticket or self.new_ticket())
        try:
            self._pool.submit(job) if in_thread else job()
        except BaseException:
            self._leave()
            raise
        return outcome

    async def answer(self, work, *arguments, ticket=None, in_thread=True):
        """Starts `work(*arguments)` and returns its answer or raises its error.

        If the calling task is cancelled, the ticket is cancelled as well.

        Args:
            work: The function to run; see `submit`.
            *arguments: Positional arguments of `work`.
            ticket: The `Ticket` of the request. If `None`, a new one is created.
            in_thread: bool. Whether `work` runs in a thread of its own; see `submit`.

        Raises:
            ServingError: UNAVAILABLE if `submit` rejects the request; DEADLINE_EXCEEDED if the
                time limit of the ticket is exceeded; CANCELLED if the ticket was cancelled before
                `work` started.
        """
        ticket = ticket or self.new_ticket()
        outcome = self.submit(work, *arguments, ticket=ticket, in_thread=in_thread)
        try:
            if not await is_done(outcome, ticket.remaining):
                raise too_late(ticket.seconds)
            return outcome.result()
        finally:
            if not outcome.done():
                ticket.cancel()

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

    def _work(self, outcome, work, arguments, ticket):
        self._local.ticket = ticket
        try:
            ticket.check()
            answer = work(*arguments)
        except BaseException as error:
            self._end(outcome, error=error)
        else:
            if isinstance(answer, concurrent.futures.Future):
                answer.add_done_callback(functools.partial(self._follow, outcome))
            else:
                self._end(outcome, answer)
        finally:
            self._local.ticket = None

    def _follow(self, outcome, future):
        error = future.exception()
        self._end(outcome, None if error else future.result(), error)

    def _end(self, outcome, answer=None, error=None):
        self._leave()
        outcome.set_result(answer) if error is None else outcome.set_exception(error)

    def _enter(self):
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

    def _leave(self):
        with self._changed:
            self._accepted -= 1
            self._changed.notify_all()
