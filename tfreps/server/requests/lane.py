"""Lane: runs some requests at the same time, while the others wait in order."""

import collections
import contextlib
import threading
import time

from tfreps.server.requests.serving_error import ServingError

SLACK = 1.0  # seconds beyond its time after which what runs counts as stuck


class Lane:
    """A queue of requests of one kind, of which some run at the same time.

    A request whose client is gone or whose time is up leaves the lane without having its turn.

    Args:
        name: of the requests, as an error calls them: `"long"`.
        slots: how many have their turn at the same time, or how many rows of theirs.
        most_waiting: how many wait; more get UNAVAILABLE.
        workers: how many of `slots` really run at the same time, all by default.

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
        self._running = {}  # ticket -> when it is late, slots

    @property
    def is_stuck(self):
        """Whether all workers are held by requests that took longer than they may."""
        now = time.monotonic()
        with self._changed:
            return sum(late < now for late, _ in self._running.values()) >= self._workers

    @contextlib.contextmanager
    def turn(self, ticket, slots=1):
        """Waits for the turn of a request, which lasts as long as the block.

        Args:
            ticket: its `Ticket`.
            slots: that it takes.

        Raises:
            ServingError: UNAVAILABLE: too many wait; DEADLINE_EXCEEDED; CANCELLED.
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
                    f"{len(self._waiting)} {self._name} requests are waiting already: try again.",
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
