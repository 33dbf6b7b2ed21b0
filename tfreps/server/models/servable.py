"""Servable: a loaded version of a model that answers requests from many threads."""

import concurrent.futures
import contextlib
import importlib
import logging
import os
import pathlib
import threading

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tfreps.server.models.batching import BatchOptions
from tfreps.server.models.graph_operations import check_operations
from tfreps.server.models.signature import Signature, rows_of
from tfreps.server.models.signature_runner import SignatureRunner, bytes_of
from tfreps.server.models.warm_up import warm_up_requests
from tfreps.server.requests.model_call import ModelCall
from tfreps.server.requests.request_limits import RequestLimits
from tfreps.server.requests.request_size import RequestCounter
from tfreps.server.requests.serving_error import ServingError
from tfreps.server.requests.tensor_protos import to_array
from tfreps.server.requests.ticket import Ticket, too_late

DEFAULT = "serving_default"
TAG = "serve"


class Servable:
    """Loaded SavedModel that answers requests.

    Requests to a signature can be merged if all inputs of the signature are required and have rank
    1 and a variable size, and all its outputs have one row per input row. If a batch fails, its
    requests are run again one by one, so that no request fails because of another. Long requests
    are not merged and wait in a separate queue.

    Args:
        folder: str or path. The folder of a SavedModel.
        batching: `BatchOptions`. If `None`, the default options are used.
        direct_runs: int. Maximum number of requests that run concurrently without being merged
            into a batch. Long requests are not counted: they run one at a time. If `None`, it is
            the number of CPUs, but at least 2.
        most_elements: int. Maximum number of elements of an input in a warm-up request. Defaults to
            2**20.
        limits: `RequestLimits`. If `None`, the default limits are used.
        allow_file_ops: bool. Whether the model may have operations that use files, the network or
            Python; see `check_operations`. Defaults to `False`.

    Attributes:
        folder: str. The folder of the SavedModel.
        limits: The `RequestLimits`.
        runner: The `SignatureRunner`.
        definitions: dict from the name of every signature to its `SignatureDef`.
        signatures: dict from the name of every callable signature to its `Signature`.

    Raises:
        ValueError: If the folder has no SavedModel, the SavedModel cannot be loaded or has
            operations that are not allowed, or a warm-up request cannot be read or fails.
    """

    def __init__(
        self,
        folder,
        batching=None,
        direct_runs=None,
        most_elements=2**20,
        limits=None,
        allow_file_ops=False,
    ):
        self.folder = os.fspath(folder)
        self.limits = limits or RequestLimits()
        self._batching = batching or BatchOptions()
        try:
            model = read_model(self.folder)
            self.definitions = definitions(model)
            if not allow_file_ops:
                check_operations(model, self.folder)
            self._counter = RequestCounter.of_folder(self.folder)
            with quiet_absl():
                self._loaded = load(self.folder)
            functions = dict(self._loaded.signatures.items())
        except Exception as error:  # truncated protobufs and missing files raise various types
            reason = " ".join(str(error).split())
            if len(reason) > 500:  # the last sentence may say what to do
                reason = f"{reason[:300]} ... {reason[-200:]}"
            raise ValueError(f"{self.folder} cannot be loaded as a SavedModel: {reason}") from error
        self.signatures = {
            name: Signature(name, self.definitions[name])
            for name in functions
            if name in self.definitions
        }
        merged = {name for name, signature in self.signatures.items() if signature.batches}
        if self._batching.max_rows <= 1:
            merged = set()
        self.runner = SignatureRunner(functions, merged, self.limits, self._batching, direct_runs)
        self._warm_up(most_elements)

    def signature(self, name: str, code="FAILED_PRECONDITION") -> Signature:
        """Returns the `Signature` with this name.

        Args:
            name: str. The name of the signature. If empty, `serving_default` is used.
            code: str. The status code of the error for an unknown name. Defaults to
                `"FAILED_PRECONDITION"`.

        Raises:
            ServingError: With the status code `code`, if there is no such signature.
        """
        name = name or DEFAULT
        if name not in self.signatures:
            text = f'Serving signature key "{name}" not found.'
            if code == "INVALID_ARGUMENT":  # TensorFlow Serving's message over REST
                text = f'Serving signature name: "{name}" not found in signature def'
            raise ServingError(code, text)
        return self.signatures[name]

    @property
    def is_stuck(self):
        """`True` if requests that exceeded their time limit block requests that are not long."""
        return self.runner.is_stuck

    def submit(self, name, inputs, outputs=(), ticket=None, write=None):
        """Checks a request and starts it.

        Args:
            name: str. The name of the signature. If empty, `serving_default` is used.
            inputs: dict from names to NumPy arrays.
            outputs: List of str. Names of the outputs to return. If empty, all outputs are
                returned.
            ticket: The `Ticket` of the request. If `None`, there is no time limit.
            write: Function that converts the answer, a dict from names to NumPy arrays. It is
                called before the next request runs, since answers can be large. If `None`, the
                answer is not converted.

        Returns:
            A `concurrent.futures.Future` with the result of `write`, or with a dict from names to
            NumPy arrays, with strings as `bytes` in arrays of objects. Its error is a ServingError
            if the answer exceeds a limit, an output is not a dense tensor, the time is up or the
            client has disconnected, and a `tf.errors.OpError` if the model fails or the request is
            cancelled while it runs.

        Raises:
            ServingError: If there is no such signature, the request does not match it or exceeds a
                limit, or too many requests are waiting.
        """
        signature = self.signature(name)
        signature.check(inputs)
        wanted = signature.check_filter(outputs)
        longest_bytes = self.limits.check_bytes(inputs)
        size = self._counter.size(inputs, self.limits.text_tokens, self.limits.tokens)
        self.limits.check_tokens(size, self._counter.added_per_text)
        rows = rows_of(inputs) or 0
        most_rows = self._batching.max_rows
        merges = 0 < rows <= most_rows and self.limits.merges(size, longest_bytes, most_rows)
        defaults = {k: v for k, v in signature.defaults.items() if k not in inputs}
        ticket = ticket or Ticket(threading.TIMEOUT_MAX)

        def finish(arrays):
            self.limits.check_answer(sum(map(bytes_of, arrays.values())))
            return arrays if write is None else write(arrays)

        call = ModelCall(signature.name, {**inputs, **defaults}, wanted, rows, ticket, finish)
        self.runner.submit(call, merges, self.limits.is_long(size, longest_bytes))
        return call.future

    def run(self, name, inputs, outputs=(), ticket=None, write=None):
        """Runs a signature and waits for its answer; see `submit`.

        Returns:
            The result of `write`, or a dict from names to NumPy arrays.

        Raises:
            ServingError: For the reasons in `submit`.
            tf.errors.OpError: If the model fails, or the request is cancelled while it runs.
        """
        ticket = ticket or Ticket(threading.TIMEOUT_MAX)
        future = self.submit(name, inputs, outputs, ticket, write)
        try:
            return future.result(ticket.remaining)
        except concurrent.futures.TimeoutError:
            ticket.cancel()
            raise too_late(ticket.seconds) from None

    def _warm_up(self, most_elements):
        for number, request in enumerate(warm_up_requests(self.folder), 1):
            try:
                inputs = {
                    key: to_array(value, most_elements, f"input '{key}'")
                    for key, value in request.inputs.items()
                }
                self.run(request.model_spec.signature_name, inputs, request.output_filter)
            except (ServingError, tf.errors.OpError) as error:
                raise ValueError(
                    f"{self.folder}: warm-up request {number} fails: {error}"
                ) from error


def load(folder):
    """Loads a SavedModel, and imports tensorflow-text if its operations may be needed."""
    try:
        return tf.saved_model.load(folder, tags=[TAG])
    except RuntimeError as error:
        if "Op type not registered" not in str(error):
            raise
        try:
            importlib.import_module("tensorflow_text")  # registers its operations
        except ImportError as missing:
            raise ValueError(
                "it has operations that TensorFlow lacks, and tensorflow-text, which may have "
                f"them, cannot be imported ({missing}). Install it with "
                "`pip install tensorflow-text`."
            ) from error
    return tf.saved_model.load(folder, tags=[TAG])


def read_model(folder):
    path = pathlib.Path(folder) / "saved_model.pb"
    if not path.is_file():
        raise ValueError("it has no saved_model.pb.")
    return saved_model_pb2.SavedModel.FromString(path.read_bytes())


def definitions(model):
    """Returns a dict of the `SignatureDef`s of a SavedModel, which `load` does not preserve."""
    for graph in model.meta_graphs:
        if TAG in graph.meta_info_def.tags:
            return dict(graph.signature_def)
    raise ValueError(f"it has no graph with the tag {TAG!r}.")


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
