"""Call: a request in progress, with its time limit and the call of a model that it needs."""

import time
from collections.abc import Callable

import tensorflow as tf
from tensorflow.python.eager import cancellation, context, execute

from tfreps.serving.server.requests.serving_error import ServingError


class Call:
    """Request in progress, whose client waits `seconds` seconds.

    `limit` is the number of seconds that the server allows. A request that runs longer counts as
    stuck (see `Lane.is_stuck`). `Servable.prepare` sets the attributes that describe the call of
    the model.
    """

    def __init__(self, seconds: float = 60.0, limit: float | None = None):
        self.seconds = seconds
        self.limit = seconds if limit is None else limit
        self.signature = None  # the `Signature`; only calls of the same one are merged
        self.inputs = {}
        self.outputs: list[str] = []
        self.rows = 0
        self.queue = ""  # name of the `Lane` in which the call waits
        self.write: Callable = dict  # converts the outputs to the response, in the call's thread
        self.on_cancel: Callable | None = None  # function without arguments that `cancel` calls
        self._until = time.monotonic() + seconds
        self._manager = cancellation.CancellationManager()

    @property
    def remaining(self):
        """Number of seconds until the client stops waiting, at least 0."""
        return max(self._until - time.monotonic(), 0.0)

    def cancel(self):
        """Cancels the request, whether it is running or waiting."""
        self._manager.start_cancel()
        if self.on_cancel is not None:
            self.on_cancel()

    def check(self):
        """Raises a ServingError if no time remains or the request was cancelled."""
        if not self.remaining:
            raise too_late(self.seconds)
        if self._manager.is_cancelled:
            raise ServingError("CANCELLED", "The client has disconnected.")

    def run(self):
        """Calls the function of the signature with the inputs; returns a dict of output tensors.

        If the request is cancelled, the function stops at its next operation. TensorFlow has no
        public function for this: all threads would share the manager of
        `CancellationManagerContext`, and a cancelled request would stop all others.
        """
        function = self.signature.function
        tensors = [tf.convert_to_tensor(self.inputs[name]) for name in sorted(self.inputs)]
        outputs = execute.execute_with_cancellation(
            function.name,
            num_outputs=len(function.outputs),
            inputs=tensors + function.captured_inputs,
            attrs=(),
            ctx=context.context(),
            cancellation_manager=self._manager,
        )
        return tf.nest.pack_sequence_as(function.structured_outputs, outputs)


def too_late(seconds):
    """Returns the `ServingError` for a request that took longer than `seconds` seconds."""
    message = (
        f"The request took longer than {seconds:g} seconds. Send fewer or shorter texts, or "
        "increase the timeout of the client and the server option `timeout_seconds`."
    )
    return ServingError("DEADLINE_EXCEEDED", message)
