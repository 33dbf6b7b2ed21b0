"""Numbers, strings and nested lists of JSON as arrays."""

import numpy as np
import pytest

from tfreps.server.requests.serving_error import ServingError
from tfreps.server.rest.json_arrays import json_array


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
        ([[1], [1, 2]], "int32", "lists of sizes 1 and 2 at nesting level 1"),
        ([[1], 2], "int32", "both lists and other values at nesting level 1"),
        ([1, "a"], "float32", "String is not of expected type: float32"),
        ([True], "float32", "Bool is not"),
        ([1], "bool", "Number is not"),
        ([None], "string", "Null is not"),
        ([1.0], "int32", "Number is not"),
        ([1], "string", "Number is not"),
        ([{"a": 1}], "float32", "Object is not"),
        ([{"a": 1}], "string", "not formatted correctly for base64"),
        ([{"b64": 1}], "string", "not formatted correctly for base64"),
        ([{"b64": "!"}], "string", "Unable to base64 decode"),
        ([{"b64": "é"}], "string", "Unable to base64 decode"),
        (["\ud800"], "string", "unpaired surrogate"),
        ([2**31], "int32", "not of expected type: int32"),
        ([-1], "uint8", "not of expected type: uint8"),
        ([10**400], "int64", "not of expected type: int64"),
        ([10**400], "float64", "Number too big to be stored in double"),
        ([10**39], "float32", "without loss of precision"),
        ([1e39], "float32", "without loss of precision"),
        ([300], "int8", "not of expected type: int8"),
    ],
    ids=str,
)
def test_refused(value, dtype, words):
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
