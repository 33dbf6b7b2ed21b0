"""Tests the JSON of arrays."""

import json

import ml_dtypes
import numpy as np
import pytest

from tfreps.serving import ServerOptions
from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.rest import json_responses


def predict_json(outputs, rows, **options):
    return json_responses.predict_json(outputs, rows, ServerOptions(**options))


def objects(*values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


def test_one_output_has_no_name():
    y = np.array([[1, 2], [3, 4]])
    assert json.loads(predict_json({"y": y}, True)) == {"predictions": [[1, 2], [3, 4]]}
    assert json.loads(predict_json({"y": y}, False)) == {"outputs": [[1, 2], [3, 4]]}
    assert json.loads(predict_json({"y": np.array(5)}, False)) == {"outputs": 5}


def test_several_outputs():
    outputs = {"a": np.array([1, 2]), "b": np.array([[0.5], [np.inf]])}
    assert json.loads(predict_json(outputs, True)) == {
        "predictions": [{"a": 1, "b": [0.5]}, {"a": 2, "b": [float("inf")]}]
    }
    assert json.loads(predict_json(outputs, False)) == {
        "outputs": {"a": [1, 2], "b": [[0.5], [float("inf")]]}
    }


def test_empty_arrays():
    assert predict_json({"y": np.zeros([0, 3])}, True) == b'{"predictions": []}'
    assert predict_json({"y": np.zeros([2, 0])}, False) == b'{"outputs": [[], []]}'
    assert predict_json({"y": np.zeros([0, 2])}, False) == b'{"outputs": []}'


def test_numbers_are_as_short_as_exact():
    y = np.array([0.2, 1, 1e-5, np.nan, -np.inf, 16777216, 3.4028235e38], "float32")
    text = predict_json({"y": y}, True).decode()
    assert text.startswith('{"predictions": [0.2, 1.0, 1e-05, NaN, -Infinity, ')
    np.testing.assert_array_equal(np.array(json.loads(text)["predictions"], "float32"), y)
    random = np.random.default_rng(0).standard_normal(1_000) * 10.0 ** np.arange(-150, 100, 0.25)
    assert json.loads(predict_json({"y": random}, True))["predictions"] == random.tolist()
    assert predict_json({"y": np.float16([0.1])}, True) == b'{"predictions": [0.099975586]}'


def test_strings_and_bytes():
    text = objects('é "\\ \n'.encode(), b"")
    assert json.loads(predict_json({"t": text}, True)) == {"predictions": ['é "\\ \n', ""]}
    raw = {"image_bytes": objects(b"\xff\0")}
    assert json.loads(predict_json(raw, True)) == {"predictions": [{"b64": "/wA="}]}
    with pytest.raises(ServingError, match="not valid UTF-8"):
        predict_json({"t": objects(b"\xff")}, True)


@pytest.mark.few(2)
@pytest.mark.parametrize("shape", [(20_000,), (2, 2, 5_000), (3, 9_000), (9_000, 3)], ids=str)
def test_large_arrays_are_written_in_parts(shape):
    array = np.arange(np.prod(shape)).reshape(shape)
    names = objects(*(b"\xc3\xa9%d" % n for n in range(array.size))).reshape(shape)
    for rows in (True, False):
        key = "predictions" if rows else "outputs"
        assert json.loads(predict_json({"y": array}, rows)) == {key: array.tolist()}
        found = json.loads(predict_json({"y": array, "t": names}, rows))[key]
        column = [row["y"] for row in found] if rows else found["y"]
        texts = [row["t"] for row in found] if rows else found["t"]
        assert column == array.tolist()
        assert np.array(texts).ravel().tolist() == [f"é{n}" for n in range(array.size)]


def test_what_cannot_be_written():
    for outputs, words in (
        ({}, "must have at least one output"),
        ({"y": np.array(1)}, "one row for each row of the inputs; got the shapes y \\(\\)"),
        ({"a": np.array([1]), "b": np.array([1, 2])}, "the shapes a \\(1,\\), b \\(2,\\)"),
        ({"y": np.array([1], ml_dtypes.bfloat16)}, "bfloat16"),
        ({"y": np.array([1j])}, "complex128"),
    ):
        with pytest.raises(ServingError, match=words):
            predict_json(outputs, True)


def test_an_answer_that_is_too_large():
    with pytest.raises(
        ServingError, match="JSON may have at most 1048576 bytes; it has .*max_response_mb"
    ):
        predict_json({"y": np.zeros([400_000])}, True, max_response_mb=1)
