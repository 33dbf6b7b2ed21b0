"""Lane: queue of model calls, which a limited number of worker threads run in order."""

import collections
import concurrent.futures
import logging
import threading
import time

from tfreps.server.requests.serving_error import ServingError

LOG = logging.getLogger("tfreps.server")
SLACK = 1.0  # seconds beyond its time limit after which a call counts as stuck
# After a batch, a worker waits for the clients that it answered: for this multiple of the time that
# the batch took, but not for more than so many seconds. With 16 clients of a small tagger on two
# cores, a multiple of 1 gave a third more requests per second than no wait.
PATIENCE = 1.0
MOST_PATIENCE = 0.02
# It only waits for connections that so many times in a row asked again within a multiple of that
# time. With a multiple of 1, 64 clients on the two cores of the server were too slow.
RETURNS = 4
RETURN_PATIENCE = 5.0


class Lane:
    """Queue of `ModelCall`s of one kind, of which a limited number run concurrently.

    A free worker takes the first call in the queue, and with it the other waiting calls of the same
    signature that fit into a batch. Calls therefore gather while the batch before them runs, and a
    single client never waits for others. A call whose client has disconnected leaves the queue
    without running.

    Clients that send their next request when they have an answer would split into two halves, each
    of which waits while the batch of the other runs. The next batch therefore starts when the
    clients of the previous one have asked again, or shortly after its end. Only clients that always
    ask again soon after an answer are waited for, since the requests of others do not depend on the
    answers.

    Args:
        name: str. The name of this kind of call in error messages, such as `"long"`.
        run: Function that takes a list of calls of one signature and runs them. It returns the
            calls that have an answer or an error, which the lane then delivers.
        workers: int. Number of lists of calls that run concurrently. Defaults to 1.
        most_rows: int. Maximum number of rows of the calls in a list. If 0, each call runs alone.
            Defaults to 0.
        most_waiting: int. Maximum number of waiting calls. Further calls are rejected with
            UNAVAILABLE. Defaults to 1,000.
        wait_seconds: float. Seconds that a free worker waits for more calls. Defaults to 0.0.
    """

    def __init__(self, name, run, workers=1, most_rows=0, most_waiting=1_000, wait_seconds=0.0):
        self._name = name
        self._run = run
        self._workers = workers
        self._most_rows = most_rows
        self._most_waiting = most_waiting
        self._wait_seconds = wait_seconds
        self._changed = threading.Condition()
        self._waiting = collections.deque()
        self._running = {}  # tuple of calls -> time after which they count as stuck
        self._active = 0  # workers
        # Client -> (time until which it asks again soon, number of times in a row that it did)
        self._answered = {}
        self._expected = set()  # clients of the previous batch that have not asked again
        self._patience_ends = 0.0  # time until which they are expected
        # Its threads end when this lane is no longer referenced.
        self._pool = concurrent.futures.ThreadPoolExecutor(workers, f"tfreps-{name}")

    @property
    def is_stuck(self):
        """`True` if all workers are stuck.

        A worker is stuck if a call has been running for more than its `Ticket.limit` plus 1 second.
        """
        now = time.monotonic()
        with self._changed:
            return sum(late < now for late in self._running.values()) >= self._workers

    def submit(self, call):
        """Appends a call to the queue.

        Args:
            call: `ModelCall`. Its error is CANCELLED or DEADLINE_EXCEEDED if it is cancelled or its
                time is up before it runs.

        Raises:
            ServingError: UNAVAILABLE if too many calls are waiting.
        """
        with self._changed:
            if len(self._waiting) >= self._most_waiting:
                raise ServingError(
                    "UNAVAILABLE",
                    f"{len(self._waiting)} {self._name} requests are already waiting, the maximum. "
                    "Try again later.",
                )
            self._waiting.append(call)
            self._recognize(call)
            if self._is_gathered():
                self._changed.notify()
            is_free = self._active < self._workers
            self._active += is_free
        call.ticket.add_callback(self._drop_cancelled)
        if is_free:
            self._pool.submit(self._work)

    def _recognize(self, call):
        """Counts how often the client of a new call asked again soon after an answer."""
        client = call.ticket.client
        self._expected.discard(client)
        until, returns = self._answered.pop(client, (0.0, 0))
        call.returns = returns + 1 if time.monotonic() < until else 0

    def _work(self):
        """Runs calls until none is waiting."""
        while calls := self._take():
            began = time.monotonic()
            answered = self._answer([call for call in calls if is_wanted(call)])
            self._leave(calls, began)  # before the clients can send their next requests
            for call in answered:  # when all are written, so that the event loop wakes up once
                call.deliver()

    def _answer(self, calls):
        """Runs calls; returns those that have an answer or an error."""
        try:
            return self._run(calls) if calls else []
        except Exception as error:  # the next calls must not wait for a worker that has ended
            LOG.exception("%d %s requests failed", len(calls), self._name)
            for call in calls:
                call.error = error
            return calls

    def _take(self):
        """Returns a tuple of calls that run together; if it is empty, the worker ends."""
        with self._changed:
            self._gather()
            calls = self._next()
            if calls:
                limit = max(call.ticket.limit for call in calls)
                self._running[calls] = time.monotonic() + limit + SLACK
            else:
                self._active -= 1
        for call in calls:
            call.ticket.remove_callback(self._drop_cancelled)
        return calls

    def _leave(self, calls, began):
        with self._changed:
            del self._running[calls]
            ended = time.monotonic()
            patience = min(PATIENCE * (ended - began), MOST_PATIENCE)
            self._patience_ends = ended + patience
            self._expect(calls, ended, ended + RETURN_PATIENCE * patience)

    def _expect(self, calls, now, until):
        """Chooses the clients of calls that are waited for."""
        self._answered = {c: found for c, found in self._answered.items() if found[0] > now}
        waiting = {call.ticket.client for call in self._waiting}
        answered = {call.ticket.client: call for call in calls if call.ticket.client is not None}
        self._expected = set()
        for client in answered.keys() - waiting:
            returns = answered[client].returns
            self._answered[client] = until, returns
            if returns >= RETURNS:
                self._expected.add(client)

    def _gather(self):
        """Waits for the calls that are expected to run together with those that are waiting."""
        if not self._waiting or not self._most_rows:
            return
        now = time.monotonic()
        until = max(now + self._wait_seconds, self._patience_ends)
        if until > now:
            self._changed.wait_for(self._is_gathered, until - now)

    def _is_gathered(self):
        if sum(call.rows for call in self._waiting) >= self._most_rows:
            return True
        return not self._wait_seconds and not self._expected

    def _next(self):
        """Removes calls that run together from the queue and returns them."""
        calls = []
        rows = 0
        left = collections.deque()
        while self._waiting and (not calls or rows < self._most_rows):
            call = self._waiting.popleft()
            is_alike = not calls or call.signature == calls[0].signature
            if is_alike and (not calls or rows + call.rows <= self._most_rows):
                calls.append(call)
                rows += call.rows
            else:
                left.append(call)
        self._waiting.extendleft(reversed(left))
        return tuple(calls)

    def _drop_cancelled(self):
        with self._changed:
            dropped = [call for call in self._waiting if call.ticket.is_cancelled]
            for call in dropped:
                self._waiting.remove(call)
        for call in dropped:
            is_wanted(call)  # sets its error


def is_wanted(call):
    """Returns True if the client still waits for the answer; otherwise, sets the error."""
    try:
        call.ticket.check()
    except ServingError as error:
        call.error = error
        call.deliver()
        return False
    return True
