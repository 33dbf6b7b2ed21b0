"""Lane: runs a limited number of requests concurrently, while others wait in order."""

import collections
import contextlib
import threading
import time

from tfreps.server.requests.serving_error import ServingError

SLACK = 1.0  # seconds beyond its time limit after which a request counts as stuck


class Lane:
    """Queue of requests of one kind, of which a limited number run concurrently.

    A request whose client has disconnected or whose time is up leaves the queue without running.

    Args:
        name: str. The name of this kind of request in error messages, such as `"long"`.
        slots: int. Number of slots. A request occupies one or more of them while it runs.
        most_waiting: int. Maximum number of waiting requests. Further requests are rejected with
            UNAVAILABLE. Defaults to 1,000.
        workers: int. The queue counts as stuck if at least this many requests are stuck; see
            `is_stuck`. If `None`, it is `slots`.

    Example:
    >>> from tfreps.server.requests.ticket import Ticket
    >>> lane = Lane("long", slots=1)
    >>> with lane.turn(Ticket(10)):
    ...     lane.is_stuck
    False
    """

    def __init__(self, name, slots, most_waiting=1_000, workers=None):
        self._name = name
        self._slots = slots
        self._most_waiting = most_waiting
        self._workers = workers or slots
        self._changed = threading.Condition()
        self._waiting = collections.deque()
        self._running = {}  # ticket -> (time after which it counts as stuck, slots)

    @property
    def is_stuck(self):
        """`True` if at least `workers` requests are stuck.

        A request is stuck once it has been running for more than its `Ticket.limit` plus 1 second.
        """
        now = time.monotonic()
        with self._changed:
            return sum(late < now for late, _ in self._running.values()) >= self._workers

    @contextlib.contextmanager
    def turn(self, ticket, slots=1):
        """Context manager that waits for free slots and occupies them while its block runs.

        Args:
            ticket: The `Ticket` of the request.
            slots: int. Number of slots that the request occupies. Defaults to 1.

        Raises:
            ServingError: UNAVAILABLE if too many requests are waiting; DEADLINE_EXCEEDED if the
                time is up; CANCELLED if the client has disconnected.
        """
        with ticket.when_cancelled(self._wake):
            self._wait(ticket, slots)
        try:
            yield
        finally:
            with self._changed:
                del self._running[ticket]
                self._changed.notify_all()

    def _wait(self, ticket, slots):
        with self._changed:
            if len(self._waiting) >= self._most_waiting:
                raise ServingError(
                    "UNAVAILABLE",
                    f"{len(self._waiting)} {self._name} requests are already waiting, the maximum. "
                    "Try again later.",
                )
            self._waiting.append(ticket)
            try:
                ticket.check()
                while self._waiting[0] is not ticket or self._taken + slots > self._slots:
                    self._changed.wait(ticket.remaining)
                    ticket.check()
                self._running[ticket] = time.monotonic() + ticket.limit + SLACK, slots
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()

    @property
    def _taken(self):
        return sum(slots for _, slots in self._running.values())

    def _wake(self):
        with self._changed:
            self._changed.notify_all()
