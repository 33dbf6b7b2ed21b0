"""Converts TensorProto messages of TensorFlow Serving clients to NumPy arrays and back."""

import contextlib
import math

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from tfreps.serving.server.requests.serving_error import ServingError

MOST_AXES = 32
# The first byte of a serialized field (its number << 3 | 2). The packed values of the fields for
# float and double have the same bytes as the field `tensor_content`, which a NumPy array fills many
# times faster.
PACKED = {"float32": b"\x2a", "float64": b"\x32"}
# Fields for the values of other types. TensorFlow's own table is private.
FIELDS = {
    "string": "string_val",
    "bool": "bool_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    **dict.fromkeys(["int8", "int16", "int32", "uint8", "uint16"], "int_val"),
}


def to_array(
    proto: tensor_pb2.TensorProto, most_elements: int, where: str = "the tensor"
) -> np.ndarray:
    """Converts a `TensorProto` to an array.

    As in TensorFlow, the last value is repeated if values are missing, zeros or empty strings are
    used if there are no values, and surplus values are ignored. Strings become `bytes` in an array
    of objects. `where` is the name of the tensor in error messages.

    Raises:
        ServingError: If the tensor is not valid or has more than `most_elements` elements. This is
            checked before memory for the array is allocated.
    """
    shape = [axis.size for axis in proto.tensor_shape.dim]
    if proto.tensor_shape.unknown_rank or min(shape, default=0) < 0 or len(shape) > MOST_AXES:
        raise invalid(
            where,
            f"its shape must be known, with at most {MOST_AXES} axes and no negative size; got "
            f"{'an unknown rank' if proto.tensor_shape.unknown_rank else shape[: MOST_AXES + 1]}",
        )
    size = math.prod(shape)
    if size > most_elements:
        raise invalid(
            where,
            f"it must have at most {most_elements} elements (server option `max_elements`); its "
            f"shape {shape} has {size}",
        )
    try:
        dtype = tf.as_dtype(proto.dtype)
        if dtype.as_numpy_dtype is None or dtype.name not in SUPPORTED:
            raise TypeError
    except (TypeError, KeyError):
        raise invalid(
            where,
            f"its dtype must be one of {', '.join(sorted(SUPPORTED))}; got the DataType number "
            f"{proto.dtype}",
        ) from None
    if dtype != tf.string or proto.string_val:
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            return tf.make_ndarray(proto)
    try:  # TensorFlow parses the forms that `tf.make_ndarray` does not read
        found = tf.io.parse_tensor(proto.SerializeToString(), dtype).numpy()
    except (tf.errors.OpError, ValueError) as error:
        raise invalid(where, " ".join(str(error).split())[:300]) from None
    return np.asarray(found, object if dtype == tf.string else None)


def to_arrays(protos, most_elements: int) -> dict[str, np.ndarray]:
    """Returns a dict from the names of the inputs of a request to arrays.

    `protos` maps these names to `TensorProto` messages, which `to_array` converts.
    """
    return {
        name: to_array(value, most_elements, f"input '{name}'") for name, value in protos.items()
    }


# The dtypes of requests. Resources, variants and quantized dtypes are not supported.
SUPPORTED = {
    *FIELDS,
    *PACKED,
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
}


def fill_proto(proto: tensor_pb2.TensorProto, array: np.ndarray) -> None:
    """Writes an array to a message. Strings in the array must be `bytes` objects.

    TensorFlow Serving writes values to the same fields, such as `float_val`, and some clients read
    these fields directly.

    >>> proto = tensor_pb2.TensorProto()
    >>> fill_proto(proto, np.array([1.5, 2.5], "float32"))
    >>> list(proto.float_val)
    [1.5, 2.5]
    """
    dtype = tf.string if array.dtype.kind in "OSU" else tf.as_dtype(array.dtype)
    if dtype.name in PACKED:
        data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        content = tensor_pb2.TensorProto(tensor_content=data).SerializeToString()
        if data:
            proto.MergeFromString(PACKED[dtype.name] + content[1:])
    elif dtype.name in FIELDS:
        getattr(proto, FIELDS[dtype.name]).extend(array.ravel().tolist())
    else:
        proto.CopyFrom(tf.make_tensor_proto(array))
        return
    proto.dtype = dtype.as_datatype_enum
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)


def invalid(where, reason):
    return ServingError("INVALID_ARGUMENT", f"Cannot read {where}: {reason}.")
