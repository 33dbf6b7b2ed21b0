"""Ticket: the remaining time of a request, and whether its client still waits."""

import contextlib
import itertools
import threading
import time

import tensorflow as tf
from tensorflow.python.eager import cancellation, context, execute

from tfreps.server.requests.serving_error import ServingError


class Ticket:
    """The time limit and the cancellation of a request in work.

    Args:
        seconds: until its answer is of no use.
        limit: seconds that the server allows, after which work on it counts as stuck; the same as
            `seconds` by default.

    Attributes:
        seconds, limit: as above.

    Example:
    >>> ticket = Ticket(10)
    >>> ticket.check()
    >>> ticket.cancel()
    >>> ticket.check()
    Traceback (most recent call last):
    ...
    tfreps.server.requests.serving_error.ServingError: The client is gone.
    """

    def __init__(self, seconds=60.0, limit=None):
        self.seconds = seconds
        self.limit = seconds if limit is None else limit
        self._until = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._cancelled = False
        self._callbacks = []

    @property
    def remaining(self):
        """Remaining seconds, at least 0."""
        return max(self._until - time.monotonic(), 0.0)

    def cancel(self):
        """Cancels the request: running work is stopped, waiting work is not begun."""
        with self._lock:
            self._cancelled = True
            callbacks = self._callbacks
            self._callbacks = []
        for callback in callbacks:
            callback()

    def check(self):
        """Raises a ServingError, DEADLINE_EXCEEDED or CANCELLED, if nobody waits any more."""
        if not self.remaining:
            raise too_late(self.seconds)
        if self._cancelled:
            raise ServingError("CANCELLED", "The client is gone.")

    @contextlib.contextmanager
    def when_cancelled(self, callback):
        """Calls `callback()` if the request is cancelled within the block, or was before."""
        with self._lock:
            done = self._cancelled
            if not done:
                self._callbacks.append(callback)
        if done:
            callback()
        try:
            yield
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._callbacks.remove(callback)

    def call(self, function, inputs):
        """Calls a signature; if the request is cancelled, TensorFlow stops at the next operation.

        `CancellationManagerContext` would be shorter, but it is one for all threads: a request
        that fails would stop others.

        Args:
            function: signature of a loaded SavedModel, a `ConcreteFunction` of named inputs.
            inputs: dict from their names to tensors.

        Returns:
            dict from the names of its outputs to tensors.

        Raises:
            tf.errors.CancelledError: the request was cancelled.
            tf.errors.OpError: the function fails.
        """
        manager = cancellation.CancellationManager()
        eager = context.context()
        options = eager.function_call_options.as_attrs()
        name = function.name
        if isinstance(name, bytes):
            name = name.decode()
        with self.when_cancelled(manager.start_cancel):
            outputs = execute.execute_with_cancellation(
                name,
                num_outputs=len(function.outputs),
                inputs=[inputs[key] for key in function._arg_keywords] + function.captured_inputs,
                attrs=tuple(itertools.chain(*options.items())),
                ctx=eager,
                cancellation_manager=manager,
            )
        return tf.nest.pack_sequence_as(function.structured_outputs, outputs)


def too_late(seconds):
    """Makes the error for a request that took longer than this."""
    return ServingError("DEADLINE_EXCEEDED", f"The request took longer than {seconds:g} seconds.")
