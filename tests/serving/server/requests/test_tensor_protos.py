"""Tests the conversion of TensorProto to NumPy and back against TensorFlow's functions."""

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.requests.tensor_protos import fill_proto, to_array

NUMBERS = np.array([[0, 1, 2], [3, 100, 127]])
DTYPES = [
    *("float16", "float32", "float64", "bool", "complex64", "complex128"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    ml_dtypes.bfloat16,
]
STRINGS = np.array([[b"a", b""], ["é".encode(), b"\xff\0"]], object)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_there_and_back(dtype):
    for array in (NUMBERS.astype(dtype), NUMBERS[:0].astype(dtype), NUMBERS[1, 2].astype(dtype)):
        proto = tensor_pb2.TensorProto()
        fill_proto(proto, array)
        np.testing.assert_array_equal(tf.make_ndarray(proto), array)
        for sent in (proto, tf.make_tensor_proto(array)):  # `tensor_content` in the second
            found = to_array(sent, 10)
            np.testing.assert_array_equal(found, array)
            assert found.dtype == array.dtype and found.shape == array.shape


@pytest.mark.parametrize("array", [STRINGS, STRINGS[:0], STRINGS[1, 0]], ids=str)
def test_strings(array):
    proto = tensor_pb2.TensorProto()
    array = np.asarray(array, object)
    fill_proto(proto, array)
    assert proto == tf.make_tensor_proto(array, tf.string)
    np.testing.assert_array_equal(to_array(proto, 10), array)


def test_floats_are_in_their_field_and_no_others():
    """Clients in other languages read `float_val`."""
    values = np.array([1.5, -0.0, np.nan, np.inf, 1e-45], "float32")
    proto = tensor_pb2.TensorProto()
    fill_proto(proto, values[::-1])
    np.testing.assert_array_equal(np.array(proto.float_val, "float32"), values[::-1])
    assert not proto.tensor_content


def test_the_last_value_stands_for_those_missing():
    proto = tensor_pb2.TensorProto(dtype=1, float_val=[1, 2])
    proto.tensor_shape.dim.add(size=4)
    assert to_array(proto, 10).tolist() == [1, 2, 2, 2]
    proto = tensor_pb2.TensorProto(dtype=7, string_val=[b"a"])
    proto.tensor_shape.dim.add(size=3)
    assert to_array(proto, 10).tolist() == [b"a"] * 3


def sized(*sizes, **fields):
    proto = tensor_pb2.TensorProto(**fields)
    for size in sizes:
        proto.tensor_shape.dim.add(size=size)
    return proto


@pytest.mark.parametrize(
    "proto, words",
    [
        (sized(2**40, dtype=1, float_val=[1]), "must have at most 1000 elements"),
        (sized(2**62, 2**62, dtype=7, string_val=[b""]), "must have at most 1000 elements"),
        (sized(-1, dtype=1), r"no negative size; got \[-1\]"),
        (sized(*[1] * 40, dtype=1, float_val=[1]), "with at most 32 axes"),
        (sized(2, dtype=1, tensor_content=b"12345"), "Cannot read the tensor: "),
        (sized(2, dtype=7, tensor_content=b"12345678"), "Cannot read the tensor: "),
        (sized(2, dtype=0, float_val=[1, 2]), "got the DataType number 0"),
        (sized(2, dtype=20), "got the DataType number 20"),  # a resource
        (sized(2, dtype=99), "got the DataType number 99"),
        (sized(2, dtype=11, int_val=[1, 2]), "got the DataType number 11"),  # quantized
    ],
    ids=str,
)
def test_what_cannot_be_read(proto, words):
    with pytest.raises(ServingError, match=words) as caught:
        to_array(proto, 1000)
    assert caught.value.code == "INVALID_ARGUMENT"


ODD = {
    "no value": sized(2, dtype=1),
    "too many values": sized(2, dtype=1, float_val=[1, 2, 3]),
    "no string": sized(2, dtype=7),
    "too many strings": sized(1, dtype=7, string_val=[b"a", b"b"]),
    "strings as content": sized(2, dtype=7, tensor_content=b"\x01\x02abb"),
    "a number beyond its type": sized(1, dtype=6, int_val=[300]),
    "no value, no size": sized(0, dtype=1),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_forms_are_read_as_tensorflow_reads_them(name):
    proto = ODD[name]
    dtype = tf.as_dtype(proto.dtype)
    expected = tf.io.parse_tensor(proto.SerializeToString(), dtype).numpy()
    found = to_array(proto, 10)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == (object if dtype == tf.string else expected.dtype)
    known = {"no value": [0, 0], "too many values": [1, 2], "strings as content": [b"a", b"bb"]}
    assert found.tolist() == known.get(name, expected.tolist())


def test_unknown_rank():
    proto = sized(dtype=1, float_val=[1])
    proto.tensor_shape.unknown_rank = True
    with pytest.raises(ServingError, match="Cannot read input 'x': .*; got an unknown rank"):
        to_array(proto, 10, "input 'x'")
