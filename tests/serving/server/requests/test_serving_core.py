"""Tests the part of the server that both interfaces share."""

import asyncio
import gc
import json
import weakref

import grpc
import pytest
from tensorflow_serving.apis import prediction_service_pb2_grpc

from tests.serving.server.small_models import predict_request
from tests.serving.server.test_model_server import wait_for
from tfreps.serving import ServerOptions
from tfreps.serving.server.models.model_pool import ModelPool
from tfreps.serving.server.requests import serving_core
from tfreps.serving.server.requests.serving_core import ServingCore
from tfreps.serving.server.requests.serving_error import ServingError, as_serving_error


@pytest.mark.parametrize("end", ["late", "cancelled"])
def test_a_request_that_is_given_up_is_in_progress_until_its_work_ends(end):
    core = ServingCore(ModelPool([], load=None), ServerOptions(timeout_seconds=20))

    async def check():
        go_on = asyncio.Event()
        call = core.call(0.05 if end == "late" else None)
        assert call.limit == 20

        async def work(call):
            await go_on.wait()
            call.check()

        task = asyncio.ensure_future(core.respond(call, work))
        await asyncio.sleep(0)
        if end == "cancelled":
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            with pytest.raises(ServingError, match="took longer than 0.05 seconds") as caught:
                await task
            assert caught.value.code == "DEADLINE_EXCEEDED"
        with pytest.raises(ServingError):
            call.check()
        assert core.in_progress == 1
        go_on.set()
        while core.in_progress:
            await asyncio.sleep(0)

    asyncio.run(check())


def test_errors_are_counted_for_models_that_exist(server):
    core = server._core
    for name in ("zoo", "no-such-model"):
        with pytest.raises(ServingError, match="INTERNAL|ZeroDivision"):
            with core.recorded(name, "Predict", "REST"):
                _ = 1 / 0
    page = core.metrics.page().decode()
    assert 'request_count{model_name="zoo",status="INTERNAL"} 1.0' in page
    assert "no-such-model" not in page


@pytest.mark.parametrize("is_rest", [True, False], ids=["REST", "gRPC"])
def test_rejected_requests_leave_the_memory(server, rest, channel, monkeypatch, is_rest):
    """Errors refer to frames with the inputs, but are freed without the garbage collector."""
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
