"""SignatureRunner: runs the calls of a model's signatures, merged into batches or alone."""

import contextlib
import os

import numpy as np
import tensorflow as tf

from tfreps.serving.server.requests.lane import Lane
from tfreps.serving.server.requests.request_limits import BATCHED, LONG, SINGLE, check_response
from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.requests.ticket import Ticket

# Maximum number of waiting long calls. It is less than the default of the option `max_requests`, so
# that short calls are accepted, too.
LONG_WAITING = 64


class FailedBatch(Exception):
    """Error of every call in a batch that failed, since it is unknown which call is the cause."""


class SignatureRunner:
    """Executor for the signatures of a model, with a queue for each kind of call.

    Small calls of the same signature are merged into batches if the signature is in `merged`. If a
    batch fails, its calls run again one by one, so that no call fails because of another. Other
    calls run alone, and long calls run one at a time.

    Args:
        functions: dict from the names of signatures to functions of the SavedModel.
        merged: set of the names of the signatures whose rows are independent of each other.
        options: `ServerOptions`.
    """

    def __init__(self, functions, merged, options):
        self._functions = functions
        self._merged = merged
        self._options = options
        batching = options.batching
        self._lanes = {
            BATCHED: Lane(
                BATCHED,
                self._run_together,
                batching.num_batch_threads,
                batching.max_batch_size,
                batching.max_queue_size,
                batching.batch_timeout_ms / 1_000,
            ),
            SINGLE: Lane(SINGLE, self._run_alone, max(os.cpu_count() or 1, 2)),
            LONG: Lane(LONG, self._run_alone, most_waiting=LONG_WAITING),
        }

    @property
    def is_stuck(self):
        """`True` if short calls cannot run because of calls that exceeded their time limit.

        A long call has a thread of its own, so it does not block short calls.
        """
        return self._lanes[BATCHED].is_stuck or self._lanes[SINGLE].is_stuck

    async def run(self, call):
        """Puts a `Call` into its queue, waits until it has run, and returns its response.

        Raises the error of the call, or a ServingError if the queue is full.
        """
        if call.queue == BATCHED and call.signature in self._merged:
            with contextlib.suppress(FailedBatch):
                return await self._lanes[BATCHED].run(call)
        return await self._lanes[LONG if call.queue == LONG else SINGLE].run(call)

    def _run_together(self, calls):
        """Runs calls in one batch; returns a list with the response or exception of each call."""
        if len(calls) == 1:
            return self._run_alone(calls)
        signature = calls[0].signature
        wanted = set().union(*(call.outputs for call in calls))
        names = calls[0].inputs
        try:
            inputs = {name: np.concatenate([c.inputs[name] for c in calls]) for name in names}
            tensors = Ticket().call(self._functions[signature], inputs)
            outputs = {name: as_array(name, tensors[name]) for name in wanted}
        except Exception:
            return [FailedBatch() for _ in calls]
        ends = np.cumsum([call.rows for call in calls])
        if any(value.shape[:1] != (ends[-1],) for value in outputs.values()):
            self._merged.discard(signature)
            return [FailedBatch() for _ in calls]
        responses = []
        for call, end in zip(calls, ends, strict=True):
            own = {name: outputs[name][end - call.rows : end] for name in call.outputs}
            responses.append(self._written(call, own))
        return responses

    def _run_alone(self, calls):
        """Runs a single call; returns a list with its response or exception."""
        (call,) = calls
        try:
            tensors = call.ticket.call(self._functions[call.signature], call.inputs)
            # The size is checked before large outputs are converted, which takes memory.
            dense = [tensors[name] for name in call.outputs if is_dense(tensors[name])]
            size = sum(tensor.shape.num_elements() * tensor.dtype.size for tensor in dense)
            check_response(size, self._options)
            outputs = {name: as_array(name, tensors[name]) for name in call.outputs}
        except Exception as error:
            return [error]
        return [self._written(call, outputs)]

    def _written(self, call, outputs):
        """Returns the response of a call, given its outputs, or the exception that was raised."""
        try:
            call.ticket.check()
            check_response(sum(map(bytes_of, outputs.values())), self._options)
            return call.write(outputs)
        except Exception as error:
            return error


def bytes_of(array):
    """Returns the size of an array in bytes, including its strings."""
    return array.nbytes + (sum(map(len, array.flat)) if array.dtype == object else 0)


def is_dense(value):
    return isinstance(value, tf.Tensor)


def as_array(name, value):
    """Converts an output to a NumPy array; raises a ServingError if it is not a dense tensor."""
    if not is_dense(value):
        kind = type(value).__name__
        raise ServingError(
            "UNIMPLEMENTED",
            f"Output '{name}' must be a dense tensor; got {kind}. "
            "Export the model with dense outputs.",
        )
    return np.asarray(value.numpy(), object if value.dtype == tf.string else None)
