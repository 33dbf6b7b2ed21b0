"""Servable: a loaded version of a model that serves requests from many threads."""

import contextlib
import logging
import os
import pathlib
import threading

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tfreps._src.files.saved_models import load_saved_model
from tfreps.serving.server.models.graph_operations import check_operations
from tfreps.serving.server.models.signature import Signature
from tfreps.serving.server.models.signature_runner import SignatureRunner
from tfreps.serving.server.models.warm_up import warm_up_requests
from tfreps.serving.server.requests.lane import Call
from tfreps.serving.server.requests.request_limits import choose_queue, rows_of
from tfreps.serving.server.requests.request_size import RequestCounter
from tfreps.serving.server.requests.server_options import ServerOptions
from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.requests.tensor_protos import to_arrays
from tfreps.serving.server.requests.ticket import Ticket

DEFAULT = "serving_default"
TAG = "serve"


class Servable:
    """SavedModel, loaded from a folder, that serves requests within the limits of the server.

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
            self._functions = dict(self._loaded.signatures.items())
        except Exception as error:  # damaged protobufs and missing files raise errors of many types
            reason = " ".join(str(error).split())
            if len(reason) > 500:  # the end is included, because it may say what to do
                reason = f"{reason[:300]} ... {reason[-200:]}"
            raise ValueError(
                f"{self._folder} cannot be loaded as a SavedModel: {reason}"
            ) from error
        self.signatures = {
            name: Signature(name, self.definitions[name])
            for name in self._functions
            if name in self.definitions
        }
        merged = {name for name, signature in self.signatures.items() if signature.batches}
        if self._options.batching.max_batch_size <= 1:
            merged = set()
        self._runner = SignatureRunner(self._functions, merged, self._options)
        self.run = self._runner.run
        self._warm_up()

    @property
    def is_stuck(self):
        """`True` if short requests cannot run because of requests that exceeded their time limit.

        A long request has a thread of its own, so it does not block short requests.
        """
        return self._runner.is_stuck

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

    def prepare(self, name, inputs, outputs, ticket, write=dict):
        """Checks a request, and returns a `Call` that can be passed to `run`.

        Args:
            name: str. Name of the signature. If empty, it is `serving_default`.
            inputs: dict from the names of inputs to arrays.
            outputs: sequence of str. Names of the outputs to return. If empty, all outputs are
                returned.
            ticket: `Ticket` with the time limit of the request.
            write: callable. Function that converts the dict of output arrays to the response. By
                default, the dict is the response.

        Returns:
            `Call` with the checked inputs.

        Raises:
            ServingError: If the request does not match the signature or exceeds a limit.
        """
        signature = self.signature(name)
        signature.check(inputs)
        outputs = signature.check_filter(outputs)
        queue = choose_queue(inputs, self._counter, self._options)
        inputs = {**signature.defaults, **inputs}
        return Call(signature.name, inputs, outputs, rows_of(inputs), queue, ticket, write)

    def _warm_up(self):
        for number, request in enumerate(warm_up_requests(self._folder), 1):
            try:
                inputs = to_arrays(request.inputs, self._options.max_elements)
                name, filter_ = request.model_spec.signature_name, request.output_filter
                call = self.prepare(name, inputs, filter_, Ticket(threading.TIMEOUT_MAX))
                call.ticket.call(self._functions[call.signature], call.inputs)
            except (ServingError, tf.errors.OpError) as error:
                raise ValueError(
                    f"{self._folder}: warm-up request {number} must succeed, but fails: "
                    f"{error} Correct the request or remove it from the warm-up file."
                ) from error


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
