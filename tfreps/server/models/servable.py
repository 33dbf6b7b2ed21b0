"""Servable: one loaded version of a model, which many threads may ask at once."""

import contextlib
import importlib
import logging
import os
import pathlib
import threading

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tfreps.server.models.batching import BatchOptions, batched
from tfreps.server.models.graph_operations import check_operations
from tfreps.server.models.signature import Signature, rows_of
from tfreps.server.models.warm_up import warm_up_requests
from tfreps.server.requests.lane import Lane
from tfreps.server.requests.request_limits import RequestLimits
from tfreps.server.requests.request_size import RequestCounter
from tfreps.server.requests.serving_error import ServingError
from tfreps.server.requests.tensor_protos import to_array
from tfreps.server.requests.ticket import Ticket

DEFAULT = "serving_default"
TAG = "serve"
LONG_WAITING = 64  # long requests that wait; the places of the others are for small ones


class Servable:
    """A SavedModel that answers requests.

    Signatures all of whose inputs are of rank 1 with an open size, and all of whose outputs have
    rows, are asked together by TensorFlow's batch operation. What fails in such a batch is asked
    again alone, so that a request fails by its own fault only. Long requests wait for one another
    in a lane of their own.

    Args:
        folder: of a SavedModel.
        batching: a `BatchOptions`.
        direct_runs: how many requests outside batches run at the same time.
        most_elements: largest size of an input in a warm-up request.
        limits: a `RequestLimits`.
        allow_file_ops: whether it may have operations that do more than compute
            (`check_operations`).

    Attributes:
        definitions: dict from the name of every signature to its `SignatureDef`.
        signatures: dict from the name of every signature that can be asked to its `Signature`.

    Raises:
        ValueError: the folder holds no SavedModel, or a broken one, or one that does more than
            compute, or its warm-up requests fail.
    """

    def __init__(
        self,
        folder,
        batching=None,
        direct_runs=None,
        most_elements=2**24,
        limits=None,
        allow_file_ops=False,
    ):
        self.folder = os.fspath(folder)
        self.limits = limits or RequestLimits()
        self._batching = options = batching or BatchOptions()
        # Two full batches: what waits beyond them is dropped when its client has gone.
        room = 2 * max(options.max_rows, 1) * options.threads
        self._batches = Lane("batched", room, workers=options.threads)
        self._alone = Lane("single", direct_runs or max(os.cpu_count() or 1, 2))
        self._long = Lane("long", 1, LONG_WAITING)
        try:
            model = read_model(self.folder)
            self.definitions = definitions(model)
            if not allow_file_ops:
                check_operations(model, self.folder)
            self._counter = RequestCounter.of_folder(self.folder)
            with quiet_absl():
                self._loaded = load(self.folder)
            self._calls = dict(self._loaded.signatures.items())
        except Exception as error:  # torn protobufs, missing files and more have their own
            reason = " ".join(str(error).split())[:500]
            raise ValueError(f"{self.folder} cannot be loaded as a SavedModel: {reason}") from error
        self.signatures = {
            name: Signature(name, self.definitions[name])
            for name in self._calls
            if name in self.definitions
        }
        self._merged = {}
        if self._batching.max_rows > 1:
            self._merged = {
                name: batched(self._calls[name], signature, self._batching)
                for name, signature in self.signatures.items()
                if signature.batches
            }
        self._warm_up(most_elements)

    def signature(self, name: str, code="FAILED_PRECONDITION") -> Signature:
        """Returns the signature of this name, the default one for an empty name.

        Raises:
            ServingError: there is none.
        """
        name = name or DEFAULT
        if name not in self.signatures:
            text = f'Serving signature key "{name}" not found.'
            if code == "INVALID_ARGUMENT":  # the words of the REST interface
                text = f'Serving signature name: "{name}" not found in signature def'
            raise ServingError(code, text)
        return self.signatures[name]

    @property
    def is_stuck(self):
        """Whether small requests cannot be answered, as what runs took longer than it may."""
        return self._batches.is_stuck or self._alone.is_stuck

    def run(self, name, inputs, outputs=(), ticket=None, write=None):
        """Returns the answer of a signature.

        Args:
            name: of the signature; empty for `serving_default`.
            inputs: dict from names to NumPy arrays.
            outputs: names of the outputs wanted; all of them where empty.
            ticket: the `Ticket` of the request, or None for one of as much time as it takes.
            write: function of the answer, a dict from names to NumPy arrays (strings as `bytes` in
                arrays of objects), that is called before others have their turn, since answers may
                be large; or None.

        Returns:
            what `write` returns; the answer for None.

        Raises:
            ServingError: the request does not fit the signature or the limits, or there is no time
                or place, or nobody waits any more.
            tf.errors.OpError: the model refuses it.
        """
        signature = self.signature(name)
        signature.check(inputs)
        wanted = signature.check_filter(outputs)
        longest_bytes = self.limits.check_bytes(inputs)
        size = self._counter.size(inputs, self.limits.text_tokens, self.limits.tokens)
        self.limits.check_tokens(size, self._counter.added_per_text)
        tensors = {key: tf.constant(value) for key, value in inputs.items()}
        for key in set(signature.inputs) - set(tensors):
            tensors[key] = tf.constant(signature.defaults[key])
        ticket = ticket or Ticket(threading.TIMEOUT_MAX)

        def finish(answer):
            self.limits.check_answer(sum(bytes_of(answer[key]) for key in wanted))
            arrays = {key: as_array(key, answer[key]) for key in wanted}
            ticket.check()  # whether somebody waits for it
            return arrays if write is None else write(arrays)

        if self.limits.merges(size, longest_bytes, self._batching.max_rows):
            answer = self._ask_together(signature.name, tensors, rows_of(inputs), ticket, finish)
            if answer is not None:
                return answer
        lane = self._long if self.limits.is_long(size, longest_bytes) else self._alone
        with lane.turn(ticket):
            return finish(ticket.call(self._calls[signature.name], tensors))

    def _ask_together(self, name, tensors, rows, ticket, finish):
        """The answer in a batch; None where there is none, or where it failed."""
        merged = self._merged.get(name)
        if merged is None or not rows or rows > self._batching.max_rows:
            return None
        with self._batches.turn(ticket, rows):
            try:
                answer = merged(**tensors)
            except tf.errors.UnavailableError as error:
                raise ServingError(
                    "UNAVAILABLE", "The batch scheduling queue of this model is full."
                ) from error
            except tf.errors.OpError as error:
                if "Batched output tensor" in str(error):
                    self._merged.pop(name, None)  # its outputs are no rows, whatever they claim
                return None
            return finish(answer)

    def _warm_up(self, most_elements):
        for number, request in enumerate(warm_up_requests(self.folder), 1):
            try:
                inputs = {key: to_array(v, most_elements) for key, v in request.inputs.items()}
                self.run(request.model_spec.signature_name, inputs, request.output_filter)
            except (ServingError, tf.errors.OpError) as error:
                raise ValueError(
                    f"{self.folder}: its warm-up request {number} fails: {error}"
                ) from error


def load(folder):
    """Loads a SavedModel, with tensorflow-text if it has operations that TensorFlow lacks."""
    try:
        return tf.saved_model.load(folder, tags=[TAG])
    except RuntimeError as error:
        if "Op type not registered" not in str(error):
            raise
        try:
            importlib.import_module("tensorflow_text")  # registers them
        except ImportError as missing:
            raise ValueError(
                f"it has operations that TensorFlow lacks ({missing}): pip install tensorflow-text"
            ) from error
    return tf.saved_model.load(folder, tags=[TAG])


def bytes_of(value):
    """Returns the size of an output before it becomes an array; 0 if it never does."""
    if not isinstance(value, tf.Tensor):
        return 0
    if value.dtype == tf.string:
        return int(tf.reduce_sum(tf.strings.length(value))) + 8 * int(tf.size(value))
    return int(tf.size(value)) * value.dtype.size


def as_array(name, value):
    """Converts an output to a NumPy array."""
    if not isinstance(value, tf.Tensor):
        raise ServingError("UNIMPLEMENTED", f"Output '{name}' is no dense tensor.")
    dtype = object if value.dtype == tf.string else None
    return np.asarray(value.numpy(), dtype)


def read_model(folder):
    path = pathlib.Path(folder) / "saved_model.pb"
    if not path.is_file():
        raise ValueError("it holds no saved_model.pb")
    return saved_model_pb2.SavedModel.FromString(path.read_bytes())


def definitions(model):
    """Returns the signatures as the SavedModel stores them, which loading does not keep."""
    for graph in model.meta_graphs:
        if TAG in graph.meta_info_def.tags:
            return dict(graph.signature_def)
    raise ValueError(f"it has nothing tagged {TAG!r}")


@contextlib.contextmanager
def quiet_absl():
    """Drops the warnings that an answer cannot be differentiated, which nobody asks for here."""
    logger = logging.getLogger("absl")

    def wanted(record):
        return "Will likely fail if a gradient is requested" not in record.getMessage()

    logger.addFilter(wanted)
    try:
        yield
    finally:
        logger.removeFilter(wanted)
