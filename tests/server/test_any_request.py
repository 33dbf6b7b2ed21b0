"""Every request gets a documented answer, and the server keeps running.

`make test` sends a few dozen requests to each endpoint, `make test-slow` more than 10,000.
"""

import json

import grpc
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorflow.core.framework import tensor_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

FEW, MANY = 40, 10_000
CODE = grpc.StatusCode
# 501: a dtype without JSON form, classify or regress. 503 and 504 do not occur without load.
STATUS = {200, 400, 404, 413, 429, 501}
REFUSALS = {
    CODE.INVALID_ARGUMENT,
    CODE.NOT_FOUND,
    CODE.FAILED_PRECONDITION,
    CODE.RESOURCE_EXHAUSTED,
    CODE.UNIMPLEMENTED,
}
QUIET = {"suppress_health_check": list(HealthCheck)}

# Valid and invalid names for the models of tests/server/small_models.py.
names = st.sampled_from(["zoo", "half_plus_two", "none", "..", "%2e%2e", "zoo%00", "é", "a b"])
versions = st.sampled_from(["", "/versions/7", "/versions/123", "/versions/0", "/labels/stable"])
versions |= st.sampled_from(["/labels/x", "/versions/99999999999999999999", "/versions/-1"])
signatures = st.sampled_from(
    ["", "serving_default", "two", "picky", "echo", "scalar", "kinds", "half", "none", "__init__"]
)
keys = st.sampled_from(["text", "x", "a", "b", "flag", "small", "large", "wide", "b64", "", "é"])
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["bad", "\ud800", "\0", "x" * 2_000])
    | st.fixed_dictionaries({"b64": st.sampled_from(["YQ==", "YQ", "!", "/w==", ""])})
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)
requests_ = st.fixed_dictionaries(
    {},
    optional={
        "signature_name": signatures | leaves,
        "instances": st.lists(values, max_size=4) | values,
        "inputs": values | st.dictionaries(keys, values, max_size=4),
    },
)
bodies = requests_.map(json.dumps).map(str.encode) | st.binary(max_size=60)


def broken(body, place, byte):
    """Replaces a byte of the body."""
    place %= max(len(body), 1)
    return body[:place] + bytes([byte]) + body[place + 1 :]


bodies |= st.builds(broken, bodies, st.integers(0, 200), st.integers(0, 255))


@st.composite
def tensors(draw):
    """Generates a TensorProto, which is invalid in most cases."""
    proto = tensor_pb2.TensorProto(dtype=draw(st.sampled_from([1, 2, 3, 7, 9, 10, 19, 0, 20, 99])))
    for size in draw(st.lists(st.sampled_from([0, 1, 2, 3, -1, 2**40, 2**62]), max_size=3)):
        proto.tensor_shape.dim.add(size=size)
    proto.tensor_shape.unknown_rank = draw(st.integers(0, 9)) == 0
    proto.string_val.extend(draw(st.lists(st.binary(max_size=5), max_size=4)))
    proto.float_val.extend(draw(st.lists(st.floats(width=32), max_size=4)))
    proto.int_val.extend(draw(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=4)))
    proto.bool_val.extend(draw(st.lists(st.booleans(), max_size=2)))
    proto.tensor_content = draw(st.sampled_from([b"", b"", b"1234", b"12345678", b"x"]))
    return proto


@st.composite
def fill(draw, message):
    """Sets a model, a version, a label or none of them in a request."""
    request = message()
    if draw(st.integers(0, 9)):
        request.model_spec.name = draw(st.sampled_from(["zoo", "half_plus_two", "none", "", "é"]))
        request.model_spec.signature_name = draw(signatures)
        which = draw(st.sampled_from(["", "", "", "version", "label"]))
        if which == "version":
            request.model_spec.version.value = draw(st.sampled_from([7, 123, 0, -1, 2**63 - 1]))
        if which == "label":
            request.model_spec.version_label = draw(st.sampled_from(["stable", "x"]))
    if message is predict_pb2.PredictRequest:
        for name in draw(st.lists(keys, max_size=3)):
            request.inputs[name].CopyFrom(draw(tensors()))
        request.output_filter.extend(draw(st.lists(st.sampled_from(["y", "upper"]), max_size=2)))
    if message is get_model_metadata_pb2.GetModelMetadataRequest:
        request.metadata_field.extend(draw(st.lists(st.sampled_from(["signature_def", "x"]))))
    return request


def run(many, strategy, check):
    """Runs `check` for a number of cases, which are always the same."""

    @settings(max_examples=many, **QUIET)
    @given(strategy)
    def cases(case):
        check(case)

    cases()


def amounts(test):
    """Parametrizes a test with few cases, and with many in the slow tests."""
    cases = [pytest.param(FEW, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.slow)]
    return pytest.mark.parametrize("many", cases)(test)


def still_serves(rest):
    found = rest("POST", "/v1/models/half_plus_two:predict", b'{"inputs": [2.0]}')
    assert found.json() == {"outputs": [3.0]}


@amounts
def test_predict_over_rest(rest, many):
    def check(case):
        name, version, body = case
        found = rest("POST", f"/v1/models/{name}{version}:predict", body)
        assert found.status_code in STATUS, (case, found.text)
        assert set(found.json()) <= {"predictions", "outputs", "error"}

    run(many, st.tuples(names, versions, bodies), check)
    still_serves(rest)


@amounts
@pytest.mark.parametrize("part", ["", "/metadata"], ids=["status", "metadata"])
def test_looking_over_rest(rest, many, part):
    anything = st.text(st.characters(codec="utf-8", exclude_characters="?#"), max_size=10)
    methods = st.sampled_from(["GET"] * 6 + ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])

    def check(case):
        method, name, version = case
        found = rest(method, f"/v1/models/{name}{version}{part}")
        assert found.status_code in STATUS, (case, found.text)
        assert method == "OPTIONS" or isinstance(found.json(), dict)

    run(many, st.tuples(methods, names | anything, versions | anything), check)
    still_serves(rest)


@amounts
@pytest.mark.parametrize(
    "method, message",
    [
        ("Predict", predict_pb2.PredictRequest),
        ("GetModelMetadata", get_model_metadata_pb2.GetModelMetadataRequest),
        ("GetModelStatus", get_model_status_pb2.GetModelStatusRequest),
    ],
    ids=["Predict", "GetModelMetadata", "GetModelStatus"],
)
def test_over_grpc(channel, rest, many, method, message):
    stub = prediction_service_pb2_grpc.PredictionServiceStub
    if method == "GetModelStatus":
        stub = model_service_pb2_grpc.ModelServiceStub
    call = getattr(stub(channel), method)

    def check(request):
        try:
            call(request, timeout=20)
        except grpc.RpcError as error:
            assert error.code() in REFUSALS, (request, error.code(), error.details())

    run(many, fill(message), check)
    still_serves(rest)


@amounts
def test_numbers_that_make_sense_come_back(rest, many):
    """Valid float32 inputs give the same results as x / 2 + 2 in NumPy."""
    floats = st.lists(st.floats(width=32), min_size=1, max_size=20)

    def check(numbers):
        body = json.dumps({"instances": numbers})
        found = rest("POST", "/v1/models/half_plus_two:predict", body).json()["predictions"]
        expected = np.array(numbers, "float32") / np.float32(2) + np.float32(2)
        np.testing.assert_array_equal(np.array(found, "float32"), expected)

    run(many, floats, check)
