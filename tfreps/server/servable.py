"""Servable: one loaded version of a model, checked, warmed up and asked by many threads at once."""

import contextlib
import importlib
import logging
import os
import pathlib
import threading

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from tfreps.server.batching import BatchOptions, batched
from tfreps.server.graph_operations import check_operations
from tfreps.server.serving_error import ServingError
from tfreps.server.signature import Signature, rows_of
from tfreps.server.tensor_protos import to_array
from tfreps.server.warm_up import warm_up_requests

DEFAULT = "serving_default"
TAG = "serve"
LEAST = 64  # bytes that any text counts for
LONG = 2**14  # bytes of a text that is asked alone, lest the others be padded to its length


class Servable:
    """A SavedModel that answers requests.

    Signatures all of whose inputs are of rank 1 with an open size, and all of whose outputs have
    rows, are asked together by TensorFlow's batch operation. What fails in such a batch is asked
    again alone, so that a request fails by its own fault only.

    Args:
        folder: of a SavedModel.
        batching: a `BatchOptions`.
        direct_runs: how many requests outside batches run at the same time.
        most_elements: largest size of an input in a warm-up request.
        most_text: bytes of texts in a request, where all are as long as the longest, and that is
            64 at least: that is what models make of them, and where their memory goes.
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
        most_text=2**24,
        allow_file_ops=False,
    ):
        self.folder = os.fspath(folder)
        self._most_text = most_text
        self._batching = batching or BatchOptions()
        self._slots = threading.BoundedSemaphore(direct_runs or max(os.cpu_count() or 1, 2))
        try:
            model = read_model(self.folder)
            self.definitions = definitions(model)
            if not allow_file_ops:
                check_operations(model, self.folder)
            with quiet_absl():
                self._loaded = load(self.folder)
        except Exception as error:  # torn protobufs, missing files and more have their own
            reason = " ".join(str(error).split())[:500]
            raise ValueError(f"{self.folder} cannot be loaded as a SavedModel: {reason}") from error
        self._calls = dict(self._loaded.signatures.items())
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
        """The signature of this name, the default one for an empty name.

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

    def run(self, name, inputs, outputs=(), seconds=None):
        """The answer of a signature.

        Args:
            name: of the signature; empty for `serving_default`.
            inputs: dict from names to NumPy arrays.
            outputs: names of the outputs wanted; all of them where empty.
            seconds: how long to wait for others, or None for as long as it takes.

        Returns:
            dict from names to NumPy arrays, strings as `bytes` in arrays of objects.

        Raises:
            ServingError: the request does not fit the signature, or there is no time or place.
            tf.errors.OpError: the model refuses it.
        """
        signature = self.signature(name)
        signature.check(inputs)
        wanted = signature.check_filter(outputs)
        longest = self._check_texts(inputs)
        tensors = {key: tf.constant(value) for key, value in inputs.items()}
        for key in set(signature.inputs) - set(tensors):
            tensors[key] = tf.constant(signature.defaults[key])
        answer = self._ask(
            signature.name, tensors, 0 if longest > LONG else rows_of(inputs), seconds
        )
        return {key: as_array(key, answer[key]) for key in wanted}

    def _check_texts(self, inputs):
        """Bytes of the longest text; refuses what would not fit into memory once it is padded."""
        longest = 0
        for name, value in inputs.items():
            if value.dtype == object and value.size:
                longest = max(longest, *map(len, value.flat), 0)
                if max(longest, LEAST) * value.size > self._most_text:
                    raise ServingError(
                        "INVALID_ARGUMENT",
                        f"Input '{name}' has {value.size} texts of up to {longest} bytes: together "
                        f"more than the {self._most_text} bytes that are allowed.",
                    )
        return longest

    def _ask(self, name, tensors, rows, seconds):
        """The model's answer; in a batch, where `rows` is the number of rows."""
        merged = self._merged.get(name)
        if merged is not None and rows and rows <= self._batching.max_rows:
            try:
                return merged(**tensors)
            except tf.errors.UnavailableError as error:
                raise ServingError(
                    "UNAVAILABLE", "The batch scheduling queue of this model is full."
                ) from error
            except tf.errors.OpError as error:
                if "Batched output tensor" in str(error):
                    self._merged.pop(name, None)  # its outputs are no rows, whatever they claim
        if not self._slots.acquire(timeout=seconds):
            raise ServingError("DEADLINE_EXCEEDED", "The request waited too long for its turn.")
        try:
            return self._calls[name](**tensors)
        finally:
            self._slots.release()

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
    """A SavedModel; with tensorflow-text, if it has operations that TensorFlow does not know."""
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


def as_array(name, value):
    """NumPy array of an answer."""
    if not isinstance(value, tf.Tensor):
        raise ServingError("UNIMPLEMENTED", f"Output '{name}' is no dense tensor.")
    return np.asarray(value.numpy(), object if value.dtype == tf.string else None)


def read_model(folder):
    path = pathlib.Path(folder) / "saved_model.pb"
    if not path.is_file():
        raise ValueError("it holds no saved_model.pb")
    return saved_model_pb2.SavedModel.FromString(path.read_bytes())


def definitions(model):
    """The signatures in the SavedModel's own words, which loading it does not keep."""
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
