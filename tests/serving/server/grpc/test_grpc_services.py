"""Tests TensorFlow Serving's services with the official stubs."""

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tests.serving.server.small_models import predict_request
from tfreps.serving.server.grpc import grpc_services

CODE = grpc.StatusCode


@pytest.fixture(scope="module")
def stub(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


@pytest.fixture(scope="module")
def models_stub(channel):
    return model_service_pb2_grpc.ModelServiceStub(channel)


def refused(call, request):
    with pytest.raises(grpc.RpcError) as caught:
        call(request, timeout=20)
    return caught.value.code(), caught.value.details()


def test_predict(stub):
    x = np.array([1, 2, 5], "float32")
    response = stub.Predict(predict_request("half_plus_two", {"x": x}), timeout=20)
    assert list(response.outputs["y"].float_val) == [2.5, 3.0, 4.5]
    spec = response.model_spec
    assert (spec.name, spec.signature_name, spec.version.value) == (
        "half_plus_two",
        "serving_default",
        123,
    )


@pytest.mark.parametrize("which", [{"version": 123}, {"label": "stable"}])
def test_versions_and_labels(stub, which):
    request = predict_request("half_plus_two", {"x": [2.0]}, **which)
    assert stub.Predict(request, timeout=20).outputs["y"].float_val == [3.0]


def test_other_signatures_and_filters(stub):
    inputs = {"a": np.array([[1, 2]], "int32"), "b": np.array([[0.5, np.nan]], "float32")}
    response = stub.Predict(predict_request("zoo", inputs, "two", ["sum"]), timeout=20)
    assert list(response.outputs) == ["sum"]
    np.testing.assert_array_equal(tf.make_ndarray(response.outputs["sum"]), [[1.5, np.nan]])
    response = stub.Predict(predict_request("zoo", inputs, "two"), timeout=20)
    assert list(response.outputs["product_bytes"].string_val) == [b"1", b"2"]


@pytest.mark.parametrize(
    "request_, code, words",
    [
        (predict_pb2.PredictRequest(), CODE.INVALID_ARGUMENT, "Missing ModelSpec"),
        (predict_request("", {}), CODE.INVALID_ARGUMENT, "ModelSpec has no name specified."),
        (
            predict_request("half", {"x": [1.0]}),
            CODE.NOT_FOUND,
            "Servable not found for request: Latest(half)",
        ),
        (
            predict_request("zoo", {}, version=9),
            CODE.NOT_FOUND,
            "Servable not found for request: Specific(zoo, 9)",
        ),
        (
            predict_request("zoo", {}, label="x"),
            CODE.INVALID_ARGUMENT,
            "Unrecognized servable version label: x",
        ),
        (
            predict_request("zoo", {"text": ["a"]}, label=""),
            CODE.INVALID_ARGUMENT,
            "Unrecognized servable version label: ",
        ),
        (
            predict_request("none", {}, label="stable"),
            CODE.INVALID_ARGUMENT,
            "Unrecognized servable version label: stable",
        ),
        (
            predict_request("zoo", {}, "no"),
            CODE.FAILED_PRECONDITION,
            'Serving signature key "no" not found.',
        ),
        (predict_request("zoo", {}), CODE.INVALID_ARGUMENT, "Missing but required: {text}"),
        (
            predict_request("zoo", {"text": ["a"], "x": [1]}),
            CODE.INVALID_ARGUMENT,
            "Sent extra: {x}",
        ),
        (
            predict_request("zoo", {"text": [1.5]}),
            CODE.INVALID_ARGUMENT,
            "must have the dtype string; got float32.",
        ),
        (predict_request("zoo", {"text": [["a"]]}), CODE.INVALID_ARGUMENT, "shape (None,)"),
        (
            predict_request("zoo", {"text": ["a"]}, outputs=["z"]),
            CODE.INVALID_ARGUMENT,
            "alias not found in signature: z",
        ),
        (predict_request("zoo", {"text": ["bad"]}, "picky"), CODE.INVALID_ARGUMENT, "assertion"),
        (
            predict_request("zoo", {"a": [[1, 2]], "b": [[1.0, 2.0, 3.0]]}, "two"),
            CODE.INVALID_ARGUMENT,
            "ncompatible shapes",
        ),
    ],
)
def test_refused(stub, request_, code, words):
    found, details = refused(stub.Predict, request_)
    assert found == code and words in details


def test_metadata(stub):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "zoo"
    response = stub.GetModelMetadata(request, timeout=20)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    response.metadata["signature_def"].Unpack(signatures)
    assert response.model_spec.version.value == 7
    assert signatures.signature_def["two"].inputs["a"].dtype == tf.int32.as_datatype_enum
    for fields, words in (([], "at least one"), (["weights"], "weights is not supported")):
        request.metadata_field[:] = fields
        code, details = refused(stub.GetModelMetadata, request)
        assert code == CODE.INVALID_ARGUMENT and words in details


def test_status(models_stub):
    request = get_model_status_pb2.GetModelStatusRequest()
    assert refused(models_stub.GetModelStatus, request)[0] == CODE.INVALID_ARGUMENT
    request.model_spec.name = "zoo"
    (entry,) = models_stub.GetModelStatus(request, timeout=20).model_version_status
    assert entry.version == 7 and entry.state == entry.AVAILABLE and entry.status.error_code == 0
    request.model_spec.version.value = 8
    code, message = refused(models_stub.GetModelStatus, request)
    assert code == CODE.NOT_FOUND and message.startswith("Could not find version 8 of model zoo. ")
    request.model_spec.version_label = "none"  # is ignored
    (entry,) = models_stub.GetModelStatus(request, timeout=20).model_version_status
    assert entry.version == 7
    request.model_spec.name = ""
    code, message = refused(models_stub.GetModelStatus, request)
    assert code == CODE.NOT_FOUND and message.startswith("Could not find any versions of model . ")


def test_what_no_request_can_do(stub, models_stub):
    request = model_management_pb2.ReloadConfigRequest()
    assert refused(models_stub.HandleReloadConfigRequest, request)[0] == CODE.UNIMPLEMENTED
    request = classification_pb2.ClassificationRequest()
    assert refused(stub.Classify, request)[0] == CODE.UNIMPLEMENTED


def test_the_clients_own_deadline(stub):
    request = predict_request("zoo", {"text": ["x" * 3_000]}, "slow")
    with pytest.raises(grpc.RpcError) as caught:
        stub.Predict(request, timeout=0.05)
    assert caught.value.code() == CODE.DEADLINE_EXCEEDED


def test_inputs_of_no_signature_take_no_memory(stub, monkeypatch):
    monkeypatch.setattr(grpc_services, "to_arrays", lambda *_: pytest.fail("was read"))
    inputs = {f"x{n}": np.zeros([1], "float32") for n in range(20)}
    code, details = refused(stub.Predict, predict_request("half_plus_two", inputs))
    assert code == CODE.INVALID_ARGUMENT and "input size does not match signature: 20!=1" in details
    code, _ = refused(stub.Predict, predict_request("half_plus_two", inputs, "none"))
    assert code == CODE.FAILED_PRECONDITION
