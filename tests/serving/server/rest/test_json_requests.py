"""Tests requests in row and column format, with TensorFlow Serving's test cases."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from tfreps.serving import ServerOptions
from tfreps.serving.server.models.signature import Signature
from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.rest.json_requests import json_array, parse_body, read_inputs


def make(**dtypes):
    definition = meta_graph_pb2.SignatureDef()
    for name, dtype in dtypes.items():
        definition.inputs[name].dtype = tf.as_dtype(dtype).as_datatype_enum
        definition.inputs[name].tensor_shape.unknown_rank = True
    return Signature("serving_default", definition)


ONE = make(default="int32")
TEXT = make(text="string")
FLOAT = make(x="float64")
THREE = make(tag="string", signal="int32", sensor="float32")


def read(body, signature):
    return read_inputs(parse_body(body.encode(), 50_000), signature)


def check(found, **expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value)


def test_rows_of_one_input():
    found, rows = read('{"instances": [[1,2],[3,4],[5,6]]}', ONE)
    check(found, default=[[1, 2], [3, 4], [5, 6]])
    assert rows and found["default"].dtype == "int32"
    check(read('{"instances": [{"default": [1]}, {"default": [2]}]}', ONE)[0], default=[[1], [2]])


def test_rows_of_base64():
    for body in (
        '{"instances": [{"b64": "aGVsbG8="}, {"b64": "d29ybGQ="}]}',
        '{"instances": [{"text": {"b64": "aGVsbG8="}}, {"text": "world"}]}',
    ):
        check(read(body, TEXT)[0], text=np.array([b"hello", b"world"], object))


def test_rows_and_columns_of_the_document():
    rows = """{"instances": [
      {"tag": "foo", "signal": [1, 2, 3, 4, 5], "sensor": [[1, 2], [3, 4]]},
      {"tag": "bar", "signal": [3, 4, 1, 2, 5], "sensor": [[4, 5], [6, 8]]}]}"""
    columns = """{"inputs": {
      "tag": ["foo", "bar"],
      "signal": [[1, 2, 3, 4, 5], [3, 4, 1, 2, 5]],
      "sensor": [[[1, 2], [3, 4]], [[4, 5], [6, 8]]]}}"""
    expected = {
        "tag": np.array([b"foo", b"bar"], object),
        "signal": [[1, 2, 3, 4, 5], [3, 4, 1, 2, 5]],
        "sensor": [[[1, 2], [3, 4]], [[4, 5], [6, 8]]],
    }
    (by_row, is_row), (by_column, is_column) = read(rows, THREE), read(columns, THREE)
    check(by_row, **expected)
    check(by_column, **expected)
    assert is_row and not is_column


def test_columns_of_one_input():
    check(read('{"inputs": [[1,2]]}', ONE)[0], default=[[1, 2]])
    check(read('{"inputs": 5}', ONE)[0], default=5)
    check(read('{"inputs": {"b64": "aGVsbG8="}}', TEXT)[0], text=np.array(b"hello", object))
    # Unknown inputs are ignored in column format, as in TensorFlow Serving.
    check(read('{"inputs": {"default": [1], "more": 2}}', ONE)[0], default=[1])


def test_special_numbers():
    found, _ = read('{"inputs": [1, NaN, Infinity, -Infinity]}', make(x="float32"))
    check(found, x=np.array([1, np.nan, np.inf, -np.inf], "float32"))


@pytest.mark.parametrize(
    "body, signature, words",
    [
        ("", ONE, "not valid JSON"),
        ("{", ONE, "not valid JSON: .* line 1 column 2"),
        ('{"inputs": [1]} x', ONE, "not valid JSON: Extra data"),
        ("[1]", ONE, "must be a JSON object"),
        ("NaN", ONE, "must be a JSON object"),
        ("{}", ONE, "one of the keys 'instances' and 'inputs', and not both"),
        ('{"instances": [1], "inputs": [1]}', ONE, "and not both"),
        ('{"instances": 5}', ONE, "^'instances' must be an array with at least one value"),
        ('{"instances": []}', ONE, "'instances' must be an array"),
        ('{"instances": [[1,2],[3,4],[5,6,7]]}', ONE, "arrays of several sizes"),
        ('{"instances": [[1,2],[3,4],[[5,6]]]}', ONE, "must be a dense tensor"),
        ('{"instances": [1, [1]]}', ONE, "nesting level 1 contains .* arrays and other values"),
        ('{"instances": [[1,2],["a","b"]]}', ONE, "must be of type int32; got a string"),
        ('{"instances": [1, {"default": 1}]}', ONE, "value 1 of 2 is not an object"),
        ('{"instances": [{"default": 1}, 1]}', ONE, "value 2 of 2 is not an object"),
        ('{"instances": [{"x": 1}]}', ONE, "Missing but required: {default}"),
        (
            '{"instances": [{"default": 1}, {"default": 1, "x": 1}]}',
            ONE,
            "value 2 of 2 .* different keys",
        ),
        ('{"instances": ["foo"]}', THREE, "an object with the keys sensor, signal, tag"),
        ('{"inputs": ["foo"]}', THREE, "an object with the keys sensor, signal, tag"),
        ('{"inputs": {"tag": ["a"]}}', THREE, "Missing but required: {sensor,signal}"),
        ('{"inputs": 1e999}', FLOAT, "the number 1e999 is out of the range of float64"),
        ('{"inputs": [Infinity, 1e400]}', FLOAT, "the number 1e400 is out of the range"),
        ('{"inputs": [1], "more": -1E+400}', FLOAT, "the number -1E.400 is out of the range"),
        ('{"inputs": 1' + "0" * 400 + "}", FLOAT, "out of the range of float64"),
        ('{"inputs": 1' + "0" * 5_000 + "}", ONE, "not valid JSON|out of the range"),
        ('{"inputs": ' + "[" * 3_000, ONE, "not valid JSON"),
        ('{"inputs": [' + "1," * 50_000 + "1]}", ONE, "at most 50000 values"),
    ],
)
def test_requests_that_are_refused(body, signature, words):
    with pytest.raises(ServingError, match=words) as caught:
        read(body, signature)
    assert caught.value.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    "value, dtype, expected",
    [
        ([1, 2.0, 5.003], "float32", np.array([1, 2, 5.003], "float32")),
        ([[1], [2]], "float64", np.array([[1.0], [2.0]])),
        (3, "int64", np.array(3)),
        ([], "float32", np.zeros([0], "float32")),
        ([[], []], "int32", np.zeros([2, 0], "int32")),
        ([float("nan")], "float32", np.array([np.nan], "float32")),
        ([True, False], "bool", np.array([True, False])),
        ([2**64 - 1], "uint64", np.array([2**64 - 1], "uint64")),
        ([2**24 - 1, 1e300], "float64", np.array([2.0**24 - 1, 1e300])),
        ([2**24 + 1, 1435774380], "float32", np.array([2.0**24, 1435774336.0], "float32")),
        ([2**53 + 1, 10**30, -(10**30)], "float64", np.array([2.0**53, 1e30, -1e30])),
        ([float("-inf")], "float32", np.array([-np.inf], "float32")),
        (["é", {"b64": "/wA="}, ""], "string", np.array(["é".encode(), b"\xff\0", b""], object)),
        ({"b64": "aGVsbG8"}, "string", np.array(b"hello", object)),
    ],
    ids=str,
)
def test_arrays(value, dtype, expected):
    found = json_array(value, dtype, "x")
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape


@pytest.mark.parametrize(
    "value, dtype, words",
    [
        ([[1], [1, 2]], "int32", "nesting level 1 contains arrays of several sizes"),
        ([[1], 2], "int32", "nesting level 1 contains .* arrays and other values"),
        ([1, "a"], "float32", "must be of type float32; got a string"),
        ([True], "float32", "got a boolean"),
        ([1], "bool", "got a number"),
        ([None], "string", "got null"),
        ([1.0], "int32", "got a number"),
        ([1], "string", "got a number"),
        ([{"a": 1}], "float32", "got an object"),
        ([{"a": 1}], "string", "an object must have the form"),
        ([{"b64": 1}], "string", "an object must have the form"),
        ([{"b64": "!"}], "string", "cannot be read"),
        ([{"b64": "é"}], "string", "cannot be read"),
        (["\ud800"], "string", "surrogates not allowed"),
        ([2**31], "int32", "out of the range of int32"),
        ([-1], "uint8", "out of the range of uint8"),
        ([10**400], "int64", "out of the range of int64"),
        ([10**400], "float64", "out of the range of float64"),
        ([10**39], "float32", "out of the range of float32"),
        ([1e39], "float32", "out of the range of float32"),
        ([300], "int8", "out of the range of int8"),
    ],
    ids=str,
)
def test_values_that_are_refused(value, dtype, words):
    with pytest.raises(ServingError, match=words) as caught:
        json_array(value, dtype, "x")
    assert caught.value.code == "INVALID_ARGUMENT"


def test_depth():
    deep = [1]
    for _ in range(32):
        deep = [deep]
    with pytest.raises(ServingError, match="at most 32 levels deep"):
        json_array(deep, "int32", "x")


def test_types_without_a_form():
    with pytest.raises(ServingError, match="float16") as caught:
        json_array([1], "float16", "x")
    assert caught.value.code == "UNIMPLEMENTED"


@pytest.mark.parametrize(
    "part", ["[" * 300 + "]" * 300 + ",", "[],", '{"a":[]},', "[1],", "1,"], ids=lambda p: p[:6]
)
def test_bodies_of_many_values(part):
    """A value counts as 1; a list or object, which takes more memory and time, as 16."""
    count = 30 * (part.count(",") + 16 * part.count("[") + 16 * part.count("{")) + 32
    body = '{"inputs":[' + part * 30 + "1]}"
    assert len(parse_body(body.encode(), count + 1)["inputs"]) == 31
    with pytest.raises(ServingError, match=f"at most {count} values"):
        parse_body(body.encode(), count)
    options = ServerOptions()
    largest = part * (options.max_body_mb * 2**20 // len(part))
    with pytest.raises(ServingError, match="at most 1048576 values"):
        parse_body(largest.encode(), options.max_elements)


def test_bytes_that_are_no_utf_8():
    with pytest.raises(ServingError, match="not valid JSON: .utf-8. codec .* position 2"):
        parse_body(b'{"\xff": 1}', 100)
    assert parse_body(b"\xef\xbb\xbf{}", 100) == {}
