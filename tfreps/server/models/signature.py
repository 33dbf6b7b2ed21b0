"""Signature: the inputs and outputs of a model, against which requests are checked."""

import numpy as np
import tensorflow as tf

from tfreps.server.requests.serving_error import ServingError


class Signature:
    """Inputs and outputs of a signature of a SavedModel.

    Args:
        name: str. The name of the signature, such as `"serving_default"`.
        definition: The `SignatureDef` of the signature.

    Attributes:
        inputs: dict from input names to `tf.TensorSpec`, in alphabetical order. The value is `None`
            for inputs that are not dense tensors.
        outputs: dict from output names to `tf.TensorSpec`, in alphabetical order. The value is
            `None` for outputs that are not dense tensors, such as ragged tensors.
        defaults: dict from the names of optional inputs to their default values.

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
        """`True` if the rows of several requests can be merged into one call.

        Every input must be required and have the shape `[None]`, and the first axis of every output
        must have the size `None`.
        """
        takes = list(self.inputs.values())
        gives = list(self.outputs.values())
        return (
            bool(takes)
            and not self.defaults
            and all(t is not None and open_rows(t) and t.shape.rank == 1 for t in takes)
            and all(g is not None and open_rows(g) for g in gives)
        )

    def check_names(self, given):
        """Checks that all required inputs and no unknown inputs are given.

        Args:
            given: Iterable of str. Names of the inputs of a request.

        Raises:
            ServingError: INVALID_ARGUMENT if an input is missing or unknown.
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
        """Checks the names, dtypes and shapes of the inputs of a request.

        Args:
            inputs: dict from names to NumPy arrays, with strings as `bytes` in arrays of objects.

        Raises:
            ServingError: INVALID_ARGUMENT if a name, dtype or shape does not match the signature;
                UNIMPLEMENTED if the signature declares an input that is not a dense tensor.
        """
        self.check_names(inputs)
        for name, value in inputs.items():
            wanted = self.inputs[name]
            if wanted is None:
                raise ServingError(
                    "UNIMPLEMENTED",
                    f"The model declares input '{name}' as a sparse or composite tensor, but this "
                    "server supports only dense tensors.",
                )
            found = tf.string if value.dtype.kind in "OSU" else tf.as_dtype(value.dtype)
            if found != wanted.dtype:
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"Input '{name}' must have the dtype {wanted.dtype.name}; got {found.name}.",
                )
            if not fits(value.shape, wanted.shape):
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"Input '{name}' must have the shape {wanted.shape}; got "
                    f"{tf.TensorShape(value.shape)}.",
                )

    def check_filter(self, names):
        """Checks the names of the requested outputs and returns them.

        Args:
            names: List of str. The names in the request. If empty, all output names are returned.

        Raises:
            ServingError: INVALID_ARGUMENT if a name is unknown or given twice.
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
    """Returns the size of all inputs along their first axis, or None if they have no such size."""
    sizes = {value.shape[:1] for value in inputs.values()}
    return sizes.pop()[0] if len(sizes) == 1 and sizes != {()} else None


def spec(info):
    """Converts a `TensorInfo` to a `tf.TensorSpec`, or to None if it is not a dense tensor."""
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
