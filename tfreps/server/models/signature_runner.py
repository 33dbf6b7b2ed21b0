"""SignatureRunner: runs the calls of a model's signatures, merged into batches or alone."""

import os

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework.constant_op import convert_to_eager_tensor

from tfreps.server.models.batching import joined, split
from tfreps.server.requests.lane import Lane
from tfreps.server.requests.serving_error import ServingError
from tfreps.server.requests.ticket import Ticket

LONG_WAITING = 64  # maximum number of waiting long calls; other places are for small ones
FEW_TEXTS = 1_024  # strings of an output that are converted without a check of their size


class SignatureRunner:
    """Runner of the calls of a model, with a queue for each kind of call.

    Small calls of a signature whose rows are independent run together. If their batch fails, they
    run again one by one, so that no call fails because of another. Other calls run alone, and long
    ones one at a time.

    Args:
        functions: dict from names of signatures to `ConcreteFunction`.
        merged: Set of str. Names of the signatures whose calls may run together.
        limits: `RequestLimits`.
        batching: `BatchOptions`.
        direct_runs: int. Maximum number of calls that run alone concurrently. Long calls are not
            counted. If `None`, it is the number of CPUs, but at least 2.

    Attributes:
        merged: Set of str. A signature is removed if its outputs turn out not to have one row per
            row of its inputs.
    """

    def __init__(self, functions, merged, limits, batching, direct_runs=None):
        self.merged = set(merged)
        self._functions = functions
        self._limits = limits
        self._together = Lane(
            "batched",
            self._run_together,
            batching.threads,
            batching.max_rows,
            batching.max_queued,
            batching.timeout_ms / 1_000,
        )
        direct_runs = direct_runs or max(os.cpu_count() or 1, 2)
        self._alone = Lane("single", self._run_alone, direct_runs)
        self._long = Lane("long", self._run_alone, 1, most_waiting=LONG_WAITING)

    @property
    def is_stuck(self):
        """`True` if calls that exceeded their time limit block calls that are not long."""
        return self._together.is_stuck or self._alone.is_stuck

    def submit(self, call, merges, is_long):
        """Appends a call to the queue of its kind.

        Args:
            call: `ModelCall`.
            merges: bool. Whether the call is small enough to run together with others.
            is_long: bool. Whether the call waits in the queue of long calls if it does not run
                together with others.

        Raises:
            ServingError: UNAVAILABLE if too many calls are waiting.
        """
        if merges and call.signature in self.merged:
            self._together.submit(call)
        else:
            (self._long if is_long else self._alone).submit(call)

    def _run_together(self, calls):
        """Runs calls in one batch; returns those that have an answer or an error."""
        if len(calls) == 1:
            return self._run_alone(calls)
        signature = calls[0].signature
        wanted = set().union(*(call.outputs for call in calls))
        try:
            tensors = self._ask(signature, joined([call.inputs for call in calls]))
            outputs = {name: as_array(name, tensors[name]) for name in wanted}
        except Exception:  # which of the calls is at fault is not known
            return self._ask_alone(calls)
        try:
            parts = split(outputs, [call.rows for call in calls])
        except ValueError:  # the outputs have no rows, despite the signature
            self.merged.discard(signature)
            return self._ask_alone(calls)
        for call, part in zip(calls, parts, strict=True):
            call.write({name: part[name] for name in call.outputs})
        return calls

    def _ask_alone(self, calls):
        """Moves calls to the queue of those that run alone; returns those that do not fit."""
        rejected = []
        for call in calls:
            try:
                self._alone.submit(call)
            except ServingError as error:
                call.error = error
                rejected.append(call)
        return rejected

    def _run_alone(self, calls):
        """Runs calls one by one, and returns them."""
        for call in calls:
            try:
                tensors = self._ask(call.signature, call.inputs, call.ticket)
                outputs = {name: few_texts(tensors[name]) for name in call.outputs}
                # Before the conversion of large outputs, which takes memory.
                self._limits.check_answer(sum(map(bytes_of, outputs.values())))
                outputs = {name: as_array(name, value) for name, value in outputs.items()}
            except Exception as error:
                call.error = error
            else:
                call.write(outputs)
        return calls

    def _ask(self, signature, inputs, ticket=None):
        """Calls a signature with arrays, and returns a dict from output names to tensors."""
        eager = context.context()
        tensors = {k: convert_to_eager_tensor(value, eager) for k, value in inputs.items()}
        return (ticket or Ticket()).call(self._functions[signature], tensors)


def bytes_of(value):
    """Returns the size of an output in bytes, or 0 if it is neither an array nor a dense tensor."""
    if isinstance(value, np.ndarray):
        return value.nbytes + (sum(map(len, value.flat)) if value.dtype == object else 0)
    if not isinstance(value, tf.Tensor):
        return 0
    if value.dtype == tf.string:
        return int(tf.reduce_sum(tf.strings.length(value))) + 8 * int(tf.size(value))
    return value.shape.num_elements() * value.dtype.size


def few_texts(value):
    """Converts an output of few strings to an array, whose size needs no operation to compute."""
    is_text = isinstance(value, tf.Tensor) and value.dtype == tf.string
    return as_array("", value) if is_text and value.shape.num_elements() <= FEW_TEXTS else value


def as_array(name, value):
    """Converts an output to a NumPy array, unless it is one."""
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, tf.Tensor):
        raise ServingError("UNIMPLEMENTED", f"Output '{name}' is not a dense tensor.")
    dtype = object if value.dtype == tf.string else None
    return np.asarray(value.numpy(), dtype)
