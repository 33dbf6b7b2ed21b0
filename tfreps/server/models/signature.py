"""Signature: inputs and outputs of a signature of a SavedModel, and checks of requests."""

import numpy as np
import tensorflow as tf

from tfreps.server.requests.serving_error import ServingError


class Signature:
    """The inputs and outputs of a signature, read from its SignatureDef.

    Args:
        name: of the signature, `"serving_default"`.
        definition: its `SignatureDef`.

    Attributes:
        inputs, outputs: dicts from a name to `tf.TensorSpec`, in alphabetical order; an output that
            is no dense tensor (a ragged one, say) is None.
        defaults: dict from the name of an input that may be left out to its value.

    Example:
    >>> from tensorflow.core.protobuf import meta_graph_pb2
    >>> definition = meta_graph_pb2.SignatureDef()
    >>> definition.inputs["x"].dtype = 1
    >>> definition.inputs["x"].tensor_shape.dim.add(size=-1)
    size: -1
    <BLANKLINE>
    >>> Signature("serving_default", definition).inputs["x"].shape.as_list()
    [None]
    """

    def __init__(self, name, definition):
        self.name = name
        self.inputs = {key: spec(definition.inputs[key]) for key in sorted(definition.inputs)}
        self.outputs = {key: spec(definition.outputs[key]) for key in sorted(definition.outputs)}
        self.defaults = {
            key: tf.make_ndarray(value)
            for key, value in getattr(definition, "defaults", {}).items()
        }

    @property
    def batches(self):
        """Whether requests may be merged: inputs of rank 1, and a row of every output for each."""
        takes = list(self.inputs.values())
        gives = list(self.outputs.values())
        return (
            bool(takes)
            and not self.defaults
            and all(open_rows(t) and t.shape.rank == 1 for t in takes)
            and all(g is not None and open_rows(g) for g in gives)
        )

    def check_names(self, given):
        """Raises a ServingError for inputs that are missing or unknown.

        Args:
            given: names of the inputs of a request.

        Raises:
            ServingError: INVALID_ARGUMENT.
        """
        given = set(given)
        known = set(self.inputs)
        missing = known - given - set(self.defaults)
        if missing or given - known:
            raise ServingError(
                "INVALID_ARGUMENT",
                f"input size does not match signature: {len(given)}!={len(known)} "
                f"len({{{listed(given)}}}) != len({{{listed(known)}}}). "
                f"Sent extra: {{{listed(given - known)}}}. "
                f"Missing but required: {{{listed(missing)}}}.",
            )

    def check(self, inputs):
        """Raises a ServingError for inputs of another name, dtype, rank or size.

        Args:
            inputs: dict from names to NumPy arrays; strings as arrays of `bytes` objects.

        Raises:
            ServingError: INVALID_ARGUMENT.
        """
        self.check_names(inputs)
        for name, value in inputs.items():
            wanted = self.inputs[name]
            if wanted is None:
                raise ServingError("UNIMPLEMENTED", f"Input '{name}' is no dense tensor.")
            found = tf.string if value.dtype.kind in "OSU" else tf.as_dtype(value.dtype)
            if found != wanted.dtype:
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"Expects input '{name}' to be {wanted.dtype.name} but {found.name} came",
                )
            if not fits(value.shape, wanted.shape):
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"Expects input '{name}' to have the shape {wanted.shape} but "
                    f"{tf.TensorShape(value.shape)} came",
                )

    def check_filter(self, names):
        """Returns the outputs asked for; all if none is named.

        Raises:
            ServingError: INVALID_ARGUMENT: one is unknown, or named twice.
        """
        for place, name in enumerate(names):
            if name not in self.outputs:
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"output tensor alias not found in signature: {name} Outputs expected to be in "
                    f"the set {{{listed(self.outputs)}}}.",
                )
            if name in names[:place]:
                raise ServingError("INVALID_ARGUMENT", f"duplicate output tensor alias: {name}")
        return list(names) or list(self.outputs)


def rows_of(inputs: dict[str, np.ndarray]) -> int | None:
    """Returns the size of all inputs along their first axis; None if they differ."""
    sizes = {value.shape[:1] for value in inputs.values()}
    return sizes.pop()[0] if len(sizes) == 1 and sizes != {()} else None


def spec(info):
    """Converts a `TensorInfo` to a `tf.TensorSpec`; None if it is not a dense tensor."""
    if info.WhichOneof("encoding") in ("coo_sparse", "composite_tensor") or not info.dtype:
        return None
    return tf.TensorSpec(tf.TensorShape(info.tensor_shape), tf.as_dtype(info.dtype))


def open_rows(wanted):
    return bool(wanted.shape.rank) and wanted.shape[0] is None


def fits(shape, wanted):
    if wanted.rank is None:
        return True
    return len(shape) == wanted.rank and all(
        size in (None, own) for own, size in zip(shape, wanted.as_list(), strict=True)
    )


def listed(names):
    return ",".join(sorted(names))
