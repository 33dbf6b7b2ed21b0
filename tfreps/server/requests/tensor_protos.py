"""Converts TensorProto to NumPy and back, as TensorFlow Serving's clients write and read them."""

import contextlib
import math

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from tfreps.server.requests.serving_error import ServingError

MOST_AXES = 32
MOST_REPEATED = 2**20  # elements of a message that has fewer values, and fewer bytes
# Fields that hold a float or double after the other, byte by byte as NumPy does: their tags on the
# wire (field number << 3 | 2). Parsing such bytes is many times faster than filling the field.
PACKED = {"float32": b"\x2a", "float64": b"\x32"}
# The field for the values of other types: TensorFlow's own table is private.
FIELDS = {
    "string": "string_val",
    "bool": "bool_val",
    "int64": "int64_val",
    "uint32": "uint32_val",
    "uint64": "uint64_val",
    **dict.fromkeys(["int8", "int16", "int32", "uint8", "uint16"], "int_val"),
}


def to_array(proto: tensor_pb2.TensorProto, most_elements: int) -> np.ndarray:
    """Returns the values of a message, checked before memory is taken for them.

    Args:
        proto: with `tensor_content` or with the field for its dtype. As in TensorFlow, its last
            value stands for all that are missing, zeros and empty strings for no value at all,
            and values too many are left out.
        most_elements: the largest size accepted.

    Returns:
        NumPy array; strings as `bytes` in an array of objects.

    Raises:
        ServingError: INVALID_ARGUMENT: no dtype, negative or unknown sizes, too many elements, or
            more than 1,048,576 of a message with fewer values; content of another size than the
            shape says.

    Example:
    >>> to_array(tf.make_tensor_proto([[1.0, 2.0]]), 10)
    array([[1., 2.]], dtype=float32)
    """
    shape = [axis.size for axis in proto.tensor_shape.dim]
    if proto.tensor_shape.unknown_rank or min(shape, default=0) < 0 or len(shape) > MOST_AXES:
        raise invalid(f"its shape {shape[:MOST_AXES]} is not that of a tensor")
    size = math.prod(shape)
    if size > most_elements:
        raise invalid(f"its shape {shape} has more than {most_elements} elements")
    if size > max(MOST_REPEATED, proto.ByteSize()):  # every value takes a byte at least
        raise invalid(f"its {proto.ByteSize()} bytes stand for more than {MOST_REPEATED} elements")
    try:
        dtype = tf.as_dtype(proto.dtype)
        if dtype.as_numpy_dtype is None or dtype.name not in SUPPORTED:
            raise TypeError
    except (TypeError, KeyError):
        raise invalid(f"its dtype {proto.dtype} is none that a request can have") from None
    if dtype != tf.string:
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            return tf.make_ndarray(proto)
    elif 0 < len(proto.string_val) <= size and not proto.tensor_content:
        return strings(proto.string_val, shape, size)
    return parsed(proto, dtype)


def parsed(proto, dtype):
    """Parses a message with TensorFlow itself, which knows every form of it."""
    try:
        found = tf.io.parse_tensor(proto.SerializeToString(), dtype).numpy()
    except (tf.errors.OpError, ValueError) as error:
        raise invalid(" ".join(str(error).split())[:300]) from None
    return np.asarray(found, object) if dtype == tf.string else np.asarray(found)


# What requests are made of. (Resources, variants and quantized numbers are not.)
SUPPORTED = {
    *FIELDS,
    *PACKED,
    "float16",
    "bfloat16",
    "complex64",
    "complex128",
}


def strings(values, shape, size):
    """Makes an array of `bytes`; the last one is repeated if there are fewer than elements."""
    array = np.empty([size], object)
    array[: len(values)] = list(values)
    array[len(values) :] = values[-1]
    return array.reshape(shape)


def fill_proto(proto: tensor_pb2.TensorProto, array: np.ndarray) -> None:
    """Writes an array into an empty message, into the field for its dtype.

    TensorFlow Serving does so too, and there are clients that read these fields.

    Args:
        proto: the message to fill, in place.
        array: strings as `bytes` in an array of objects.

    Example:
    >>> proto = tensor_pb2.TensorProto()
    >>> fill_proto(proto, np.array([1.5, 2.5], "float32"))
    >>> list(proto.float_val)
    [1.5, 2.5]
    """
    dtype = tf.string if array.dtype.kind in "OSU" else tf.as_dtype(array.dtype)
    if dtype.name in PACKED:
        data = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        if data:
            proto.MergeFromString(PACKED[dtype.name] + varint(len(data)) + data)
    elif dtype.name in FIELDS:
        getattr(proto, FIELDS[dtype.name]).extend(array.ravel().tolist())
    else:
        proto.CopyFrom(tf.make_tensor_proto(array))
        return
    proto.dtype = dtype.as_datatype_enum
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)


def varint(number):
    """Encodes a whole number as protobuf does: seven bits to a byte, lowest first."""
    parts = bytearray()
    while number > 127:
        parts.append(number & 127 | 128)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def invalid(reason):
    return ServingError("INVALID_ARGUMENT", f"Tensor cannot be read: {reason}.")
