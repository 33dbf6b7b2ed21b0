"""The part that both interfaces share."""

import gc
import json
import weakref

import grpc
import numpy as np
import pytest
from tensorflow_serving.apis import prediction_service_pb2_grpc

from tests.server.small_models import predict_request
from tests.server.test_model_server import wait_for
from tfreps.server.requests import serving_core
from tfreps.server.requests.serving_error import ServingError, as_serving_error


def test_answers_and_times(server):
    core = server.core
    with core.pool.lease("half_plus_two") as (number, servable):
        answer = core.run("half_plus_two", servable, "", {"x": np.array([1], "float32")})
    assert number == 123 and answer["y"].tolist() == [2.5]
    assert b'runtime_latency_count{API="Predict",model_name="half' in core.metrics.page()


def test_errors_are_counted_for_models_that_exist(server):
    core = server.core
    for name in ("zoo", "no-such-model"):
        with pytest.raises(ServingError, match="INTERNAL|ZeroDivision"):
            with core.recorded(name, "Predict", "REST"):
                _ = 1 / 0
    page = core.metrics.page().decode()
    assert 'request_count{model_name="zoo",status="INTERNAL"} 1.0' in page
    assert "no-such-model" not in page


def test_messages(server):
    (entry,) = server.core.status_message("half_plus_two").model_version_status
    assert (entry.version, entry.state, entry.status.error_code) == (123, 30, 0)
    message = server.core.metadata_message("half_plus_two", label="stable")
    assert message.model_spec.version.value == 123 and list(message.metadata) == ["signature_def"]


@pytest.mark.parametrize("is_rest", [True, False], ids=["REST", "gRPC"])
def test_rejected_requests_leave_the_memory(server, rest, channel, monkeypatch, is_rest):
    """Their errors, whose frames hold the inputs, do not wait for the garbage collector."""
    errors = []

    def recorded(error):
        errors.append(weakref.ref(error))
        return as_serving_error(error)

    monkeypatch.setattr(serving_core, "as_serving_error", recorded)
    gc.disable()
    try:
        if is_rest:
            body = json.dumps({"instances": ["a" * 20_000, ["b"]]})
            assert rest("POST", "/v1/models/zoo:predict", body).status_code == 400
        else:
            request = predict_request("zoo", {"text": ["a"] * 10_000}, "none")
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            with pytest.raises(grpc.RpcError):
                stub.Predict(request)
        wait_for(lambda: errors and errors[0]() is None)
    finally:
        gc.enable()
