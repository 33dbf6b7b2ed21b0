"""Bodies of requests in row and column format, with TensorFlow Serving's test cases."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from tfreps.server.model_server import ServerOptions
from tfreps.server.models.signature import Signature
from tfreps.server.requests.serving_error import ServingError
from tfreps.server.rest.json_requests import parse_body, read_inputs, signature_name


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


def test_what_follows_the_object_is_not_read():
    for after in (" x", "\n{}", ',"', "\0\0"):
        check(read(' \n{"inputs": [1]}' + after, ONE)[0], default=[1])


def test_large_numbers_that_fit():
    found, _ = read('{"inputs": [1e300, 1e+22, 1.5e-400, 1e99]}', FLOAT)
    check(found, x=[1e300, 1e22, 0.0, 1e99])


def test_special_numbers():
    found, _ = read('{"inputs": [1, NaN, Infinity, -Infinity]}', make(x="float32"))
    check(found, x=np.array([1, np.nan, np.inf, -np.inf], "float32"))


@pytest.mark.parametrize(
    "body, signature, words",
    [
        ("", ONE, "document is empty"),
        ("{", ONE, "JSON Parse error.*offset: 1"),
        ("[1]", ONE, "Array Is not object"),
        ("NaN", ONE, "Number Is not object"),
        ("{}", ONE, "Missing 'inputs' or 'instances' key"),
        ('{"instances": [1], "inputs": [1]}', ONE, "Not formatted correctly"),
        ('{"instances": 5}', ONE, "^Expecting 'instances' to be an list/array"),
        ('{"instances": []}', ONE, "No values in 'instances' array"),
        ('{"instances": [[1,2],[3,4],[5,6,7]]}', ONE, "sizes 2 and 3"),
        ('{"instances": [[1,2],[3,4],[[5,6]]]}', ONE, "is not a dense tensor"),
        ('{"instances": [1, [1]]}', ONE, "both lists and other values"),
        ('{"instances": [[1,2],["a","b"]]}', ONE, "not of expected type: int32"),
        (
            '{"instances": [1, {"default": 1}]}',
            ONE,
            "but got object at item 1",
        ),
        ('{"instances": [{"default": 1}, 1]}', ONE, "Expecting object but got list at item 1"),
        ('{"instances": [{"x": 1}]}', ONE, "element: 0 .*keys must be equal to: default"),
        ('{"instances": [{"default": 1}, {"default": 1, "x": 1}]}', ONE, "element: 1"),
        ('{"instances": ["foo"]}', THREE, "instances is a plain list, but expecting"),
        ('{"inputs": ["foo"]}', THREE, "inputs is a plain value/list, but expecting"),
        ('{"inputs": {"tag": ["a"]}}', THREE, "Missing named input: sensor"),
        ('{"inputs": 1e999}', FLOAT, "Number too big to be stored in double"),
        ('{"inputs": [Infinity, 1e400]}', FLOAT, "Number too big to be stored in double"),
        ('{"inputs": [1], "more": -1E+400}', FLOAT, "Number too big to be stored in double"),
        ('{"inputs": 1' + "0" * 280 + ".0e39}", FLOAT, "Number too big to be stored in double"),
        ('{"inputs": 1' + "0" * 310 + ".5}", FLOAT, "Number too big to be stored in double"),
        ('{"inputs": 1' + "0" * 400 + "}", FLOAT, "Number too big to be stored in double"),
        ('{"inputs": 1' + "0" * 5_000 + "}", ONE, "Number too big|not of expected type"),
        ('{"inputs": ' + "[" * 3_000, ONE, "nested too deeply"),
        ('{"inputs": [' + "1," * 50_000 + "1]}", ONE, "more than 50000 values"),
    ],
)
def test_refused(body, signature, words):
    with pytest.raises(ServingError, match=words) as caught:
        read(body, signature)
    assert caught.value.code == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    "part", ["[" * 300 + "]" * 300 + ",", "[],", '{"a":[]},', "[1],", "1,"], ids=lambda p: p[:6]
)
def test_bodies_of_many_values(part):
    """Every value counts, and a list or object, which takes more memory and time, as 16."""
    count = 30 * (part.count(",") + 16 * part.count("[") + 16 * part.count("{")) + 32
    body = '{"inputs":[' + part * 30 + "1]}"
    assert len(parse_body(body.encode(), count + 1)["inputs"]) == 31
    with pytest.raises(ServingError, match=f"more than {count} values"):
        parse_body(body.encode(), count)
    options = ServerOptions()
    largest = part * (options.max_body_mb * 2**20 // len(part))
    with pytest.raises(ServingError, match="more than 1048576 values"):
        parse_body(largest.encode(), options.max_elements)


def test_bytes_that_are_no_utf_8():
    with pytest.raises(ServingError, match="Invalid UTF-8 at offset: 2"):
        parse_body(b'{"\xff": 1}', 100)
    assert parse_body(b"\xef\xbb\xbf{}", 100) == {}


def test_signature_names():
    assert [signature_name(r) for r in ({}, {"signature_name": "x"})] == ["", "x"]
    with pytest.raises(ServingError, match="must be a string value"):
        signature_name({"signature_name": 5})
