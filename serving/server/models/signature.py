"""Signature: the inputs and outputs of a model, against which requests are checked."""

import tensorflow as tf

from tfreps.serving.server.requests.serving_error import ServingError


class Signature:
    """Inputs and outputs of a signature of a SavedModel, in alphabetical order.

    `inputs` and `outputs` are dicts from names to `tf.TensorSpec`, or to `None` for tensors that
    are not dense, such as ragged tensors. `defaults` is a dict from the names of optional inputs to
    the arrays that are used if a request lacks these inputs. `function` is the function of the
    loaded SavedModel. `batches` is `True` if the rows of several requests can be merged into one
    call.
    """

    def __init__(self, name, definition, function=None):
        self.name = name
        self.function = function
        self.inputs = {key: spec(definition.inputs[key]) for key in sorted(definition.inputs)}
        self.outputs = {key: spec(definition.outputs[key]) for key in sorted(definition.outputs)}
        self.defaults = {
            key: tf.make_ndarray(value)
            for key, value in getattr(definition, "defaults", {}).items()
        }
        # Every input must be required and have the shape [None], and the first axis of every output
        # must have the size None.
        self.batches = (
            bool(self.inputs)
            and not self.defaults
            and all(open_rows(each) and each.shape.rank == 1 for each in self.inputs.values())
            and all(map(open_rows, self.outputs.values()))
        )

    def input(self, name):
        """Returns the `tf.TensorSpec` of an input; raises a ServingError if it is not dense."""
        if self.inputs[name] is None:
            raise ServingError(
                "UNIMPLEMENTED",
                f"Input '{name}' must be a dense tensor, but the model declares it as a sparse "
                "or composite tensor, which this server does not support. Export the model "
                "with dense inputs.",
            )
        return self.inputs[name]

    def check_input_names(self, given):
        """Raises a ServingError if a required input is missing or an unknown input is given."""
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
        """Raises a ServingError if a name, dtype or shape does not match the signature.

        `inputs` is a dict from names to arrays.
        """
        self.check_input_names(inputs)
        for name, value in inputs.items():
            wanted = self.input(name)
            found = tf.string if value.dtype.kind in "OSU" else tf.as_dtype(value.dtype)
            if found != wanted.dtype:
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"Input '{name}' must have the dtype {wanted.dtype.name}; got {found.name}.",
                )
            if not wanted.shape.is_compatible_with(value.shape):
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"Input '{name}' must have the shape {wanted.shape}; got "
                    f"{tf.TensorShape(value.shape)}.",
                )

    def check_filter(self, names):
        """Returns a list of the requested output names, or of all output names if there are none.

        Raises a ServingError if a name is unknown or occurs twice.
        """
        for position, name in enumerate(names):
            if name not in self.outputs:
                raise ServingError(
                    "INVALID_ARGUMENT",
                    f"output tensor alias not found in signature: {name} Outputs expected to be in "
                    f"the set {{{listed(self.outputs)}}}.",
                )
            if name in names[:position]:
                message = f"duplicate output tensor alias: {name}. Request each output only once."
                raise ServingError("INVALID_ARGUMENT", message)
        return list(names) or list(self.outputs)


def spec(info):
    """Converts a `TensorInfo` to a `tf.TensorSpec`, or to None if it is not a dense tensor."""
    if info.WhichOneof("encoding") in ("coo_sparse", "composite_tensor") or not info.dtype:
        return None
    return tf.TensorSpec(tf.TensorShape(info.tensor_shape), tf.as_dtype(info.dtype))


def open_rows(wanted):
    return wanted is not None and bool(wanted.shape.rank) and wanted.shape[0] is None


def listed(names):
    return ",".join(sorted(names))
