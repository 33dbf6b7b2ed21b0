"""Servable: a loaded version of a model that serves requests from many threads."""

import contextlib
import logging
import os
import pathlib
import threading

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tfreps._src.files.saved_models import load_saved_model
from tfreps.serving.server.models.graph_operations import check_operations
from tfreps.serving.server.models.signature import Signature
from tfreps.serving.server.models.warm_up import warm_up_requests
from tfreps.serving.server.requests.call import Call
from tfreps.serving.server.requests.lane import Lane
from tfreps.serving.server.requests.request_limits import (
    BATCHED,
    LONG,
    SINGLE,
    RequestCounter,
    check_response,
    choose_queue,
    rows_of,
)
from tfreps.serving.server.requests.server_options import ServerOptions
from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.requests.tensor_protos import to_arrays

DEFAULT = "serving_default"
TAG = "serve"
# Maximum number of waiting long calls. It is less than the default of the option `max_requests`, so
# that short calls are accepted, too.
LONG_WAITING = 64


class FailedBatch(Exception):
    """Error of every call in a batch that failed, since it is unknown which call is the cause."""


class Servable:
    """SavedModel, loaded from a folder, that serves requests within the limits of the server.

    Small calls of the same signature are merged into batches if the rows of the signature are
    independent of each other. If a batch fails, its calls run again one by one, so that no call
    fails because of another. Other calls run alone, and long calls run one at a time.

    Args:
        folder: str or path-like. Folder of the SavedModel.
        options: `ServerOptions`, which contain the limits. If `None` (the default), the default
            options are used.

    Attributes:
        definitions: dict from the name of every signature to its `SignatureDef`.
        signatures: dict from the name of every callable signature to its `Signature`.

    Raises:
        ValueError: If the folder has no SavedModel, the SavedModel cannot be loaded or has
            operations that are not allowed, or a warm-up request cannot be read or fails.
    """

    def __init__(self, folder, options=None):
        self._folder = os.fspath(folder)
        self._options = options or ServerOptions()
        try:
            model = read_model(self._folder)
            self.definitions = definitions(model)
            if not self._options.allow_file_ops:
                check_operations(model, self._folder)
            self._counter = RequestCounter.of_folder(self._folder)
            with quiet_absl():
                self._loaded = load_saved_model(self._folder, [TAG])
            functions = dict(self._loaded.signatures.items())
        except Exception as error:  # damaged protobufs and missing files raise errors of many types
            reason = " ".join(str(error).split())
            if len(reason) > 500:  # the end is included, because it may say what to do
                reason = f"{reason[:300]} ... {reason[-200:]}"
            raise ValueError(
                f"{self._folder} cannot be loaded as a SavedModel: {reason}"
            ) from error
        self.signatures = {
            name: Signature(name, self.definitions[name], function)
            for name, function in functions.items()
            if name in self.definitions
        }
        batching = self._options.batching
        self._lanes = {
            BATCHED: Lane(
                BATCHED,
                self._run,
                batching.num_batch_threads,
                batching.max_batch_size,
                batching.max_queue_size,
                batching.batch_timeout_ms / 1_000,
            ),
            SINGLE: Lane(SINGLE, self._run, max(os.cpu_count() or 1, 2)),
            LONG: Lane(LONG, self._run, most_waiting=LONG_WAITING),
        }
        self._warm_up()

    @property
    def is_stuck(self):
        """`True` if short requests cannot run because of requests that exceeded their time limit.

        A long request has a thread of its own, so it does not block short requests.
        """
        return self._lanes[BATCHED].is_stuck or self._lanes[SINGLE].is_stuck

    def signature(self, name: str) -> Signature:
        """Returns the `Signature` with this name, or `serving_default` if the name is empty.

        Raises a ServingError if the model has no such signature.
        """
        name = name or DEFAULT
        if name not in self.signatures:
            raise ServingError(
                "FAILED_PRECONDITION",
                f'Serving signature key "{name}" not found. The model has the signatures '
                f"{', '.join(sorted(self.signatures)) or 'none'}.",
            )
        return self.signatures[name]

    def prepare(self, call, signature, inputs, outputs=(), write=dict):
        """Checks a request, and stores in its `Call` what `run` needs.

        `inputs` is a dict of arrays, and `outputs` names the outputs to return; if it is empty, all
        are returned. `write` converts the dict of output arrays to the response. Raises a
        ServingError if the request does not match the `Signature` or exceeds a limit.
        """
        signature.check(inputs)
        call.signature = signature
        call.outputs = signature.check_filter(outputs)
        call.queue = choose_queue(inputs, self._counter, self._options)
        if call.queue == BATCHED and not signature.batches:
            call.queue = SINGLE
        call.rows = rows_of(inputs)
        call.inputs = {**signature.defaults, **inputs}
        call.write = write

    async def run(self, call):
        """Puts a `Call` into its queue, waits until it has run, and returns its response.

        Raises the error of the call, or a ServingError if the queue is full.
        """
        try:
            return await self._lanes[call.queue].run(call)
        except FailedBatch:
            return await self._lanes[SINGLE].run(call)

    def _run(self, calls):
        """Runs calls as one batch; returns a list with the response or exception of each call."""
        is_alone = len(calls) == 1
        try:
            whole = calls[0] if is_alone else merged(calls)
            tensors = whole.run()
            outputs = {name: as_array(name, tensors[name]) for name in whole.outputs}
        except Exception as error:
            return [error] if is_alone else [FailedBatch() for _ in calls]
        if is_alone:
            return [self._response(whole, outputs)]
        ends = np.cumsum([call.rows for call in calls])
        if any(value.shape[:1] != (ends[-1],) for value in outputs.values()):
            whole.signature.batches = False
            return [FailedBatch() for _ in calls]
        return [
            self._response(
                call, {name: outputs[name][end - call.rows : end] for name in call.outputs}
            )
            for call, end in zip(calls, ends, strict=True)
        ]

    def _response(self, call, outputs):
        """Returns the response of a call, given its outputs, or the exception that was raised."""
        try:
            call.check()
            check_response(sum(map(bytes_of, outputs.values())), self._options)
            return call.write(outputs)
        except Exception as error:
            return error

    def _warm_up(self):
        for number, request in enumerate(warm_up_requests(self._folder), 1):
            try:
                call = Call(threading.TIMEOUT_MAX)
                inputs = to_arrays(request.inputs, self._options.max_elements)
                signature = self.signature(request.model_spec.signature_name)
                self.prepare(call, signature, inputs, request.output_filter)
                call.run()
            except (ServingError, tf.errors.OpError) as error:
                raise ValueError(
                    f"{self._folder}: warm-up request {number} must succeed, but fails: "
                    f"{error} Correct the request or remove it from the warm-up file."
                ) from error


def merged(calls):
    """Returns a `Call` with the rows and outputs of several calls, which is never cancelled."""
    whole = Call()
    whole.signature = calls[0].signature
    whole.inputs = {
        name: np.concatenate([call.inputs[name] for call in calls]) for name in calls[0].inputs
    }
    whole.outputs = sorted({name for call in calls for name in call.outputs})
    return whole


def bytes_of(array):
    """Returns the size of an array in bytes, including its strings."""
    return array.nbytes + (sum(map(len, array.flat)) if array.dtype == object else 0)


def as_array(name, value):
    """Converts an output to a NumPy array; raises a ServingError if it is not a dense tensor."""
    if not isinstance(value, tf.Tensor):
        kind = type(value).__name__
        raise ServingError(
            "UNIMPLEMENTED",
            f"Output '{name}' must be a dense tensor; got {kind}. "
            "Export the model with dense outputs.",
        )
    return np.asarray(value.numpy(), object if value.dtype == tf.string else None)


def read_model(folder):
    path = pathlib.Path(folder) / "saved_model.pb"
    if not path.is_file():
        raise ValueError("the folder has no saved_model.pb. Give a folder of `tfreps export`.")
    return saved_model_pb2.SavedModel.FromString(path.read_bytes())


def definitions(model):
    """Returns a dict from the names of all signatures to `SignatureDef`s.

    `model` is a `SavedModel` message, because a loaded SavedModel has no `SignatureDef`s.
    """
    for graph in model.meta_graphs:
        if TAG in graph.meta_info_def.tags:
            return dict(graph.signature_def)
    raise ValueError(f"its saved_model.pb has no graph with the tag {TAG!r}.")


@contextlib.contextmanager
def quiet_absl():
    """Context manager that suppresses warnings about gradients, which serving does not need."""
    logger = logging.getLogger("absl")

    def wanted(record):
        return "Will likely fail if a gradient is requested" not in record.getMessage()

    logger.addFilter(wanted)
    try:
        yield
    finally:
        logger.removeFilter(wanted)
