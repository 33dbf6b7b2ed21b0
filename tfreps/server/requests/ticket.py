"""Ticket: the remaining time and the cancellation of a request."""

import contextlib
import itertools
import threading
import time

import tensorflow as tf
from tensorflow.python.eager import cancellation, context, execute

from tfreps.server.requests.serving_error import ServingError


class Ticket:
    """Time limit and cancellation of a request in progress.

    Args:
        seconds: float. Seconds that the client waits for the answer. Defaults to 60.0.
        limit: float. Seconds that the server allows. A request that runs longer counts as stuck;
            see `Lane.is_stuck`. If `None`, it is `seconds`.
        client: Hashable value that identifies the connection of the client. If `None` (the
            default), the connection is unknown.

    Attributes:
        seconds: float. Seconds that the client waits for the answer.
        limit: float. Seconds that the server allows.
        client: The connection of the client, or `None`.

    Example:
    >>> ticket = Ticket(10)
    >>> ticket.check()
    >>> ticket.cancel()
    >>> ticket.check()
    Traceback (most recent call last):
    ...
    tfreps.server.requests.serving_error.ServingError: The client has disconnected.
    """

    def __init__(self, seconds=60.0, limit=None, client=None):
        self.seconds = seconds
        self.client = client
        self.limit = seconds if limit is None else limit
        self._until = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._cancelled = False
        self._callbacks = []

    @property
    def remaining(self):
        """The remaining seconds, at least 0."""
        return max(self._until - time.monotonic(), 0.0)

    @property
    def is_cancelled(self):
        """`True` if the request was cancelled."""
        return self._cancelled

    def cancel(self):
        """Cancels the request, whether it is running or waiting."""
        with self._lock:
            self._cancelled = True
            callbacks = self._callbacks
            self._callbacks = []
        for callback in callbacks:
            callback()

    def check(self):
        """Checks that the client is still waiting for the answer.

        Raises:
            ServingError: DEADLINE_EXCEEDED if the time is up; CANCELLED if the request was
                cancelled.
        """
        if not self.remaining:
            raise too_late(self.seconds)
        if self._cancelled:
            raise ServingError("CANCELLED", "The client has disconnected.")

    def add_callback(self, callback):
        """Calls `callback()` when the request is cancelled, or at once if it already is."""
        with self._lock:
            done = self._cancelled
            if not done:
                self._callbacks.append(callback)
        if done:
            callback()

    def remove_callback(self, callback):
        """Undoes `add_callback`. A callback that was already called is ignored."""
        with self._lock, contextlib.suppress(ValueError):
            self._callbacks.remove(callback)

    def call(self, function, inputs):
        """Calls a signature; if the request is cancelled, the call stops at its next operation.

        TensorFlow's `CancellationManagerContext` is not used, because all threads share it, so that
        a failed request would stop the others.

        Args:
            function: `ConcreteFunction` with named inputs, a signature of a loaded SavedModel.
            inputs: dict from input names to tensors.

        Returns:
            A dict from output names to tensors.

        Raises:
            tf.errors.CancelledError: If the request is cancelled.
            tf.errors.OpError: If an operation of the function fails.
        """
        manager = cancellation.CancellationManager()
        eager = context.context()
        options = eager.function_call_options.as_attrs()
        name = function.name
        if isinstance(name, bytes):
            name = name.decode()
        self.add_callback(manager.start_cancel)
        try:
            outputs = execute.execute_with_cancellation(
                name,
                num_outputs=len(function.outputs),
                inputs=[inputs[key] for key in function._arg_keywords] + function.captured_inputs,
                attrs=tuple(itertools.chain(*options.items())),
                ctx=eager,
                cancellation_manager=manager,
            )
        finally:
            self.remove_callback(manager.start_cancel)
        return tf.nest.pack_sequence_as(function.structured_outputs, outputs)


def too_late(seconds):
    """Returns the error for a request that took longer than `seconds`."""
    return ServingError("DEADLINE_EXCEEDED", f"The request took longer than {seconds:g} seconds.")
