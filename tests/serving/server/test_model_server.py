"""Tests a server under load and errors: accepted requests are finished."""

import contextlib
import shutil
import socket
import threading
import time

import grpc
import numpy as np
import pytest
import requests
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_service_pb2_grpc,
    prediction_service_pb2_grpc,
)

from tests.serving.server.small_models import (
    at_the_same_time,
    predict_request,
    save_half,
    serving,
    write_warm_up,
)
from tfreps.serving import BatchOptions
from tfreps.serving.server import model_server

MALFORMED = [
    b"",
    b"{",
    b"[" * 50_000,
    b'{"instances": [1, "a"]}',
    b'{"instances": [[1], [1, 2]]}',
    b'{"inputs": {"y": 1}}',
    b'{"inputs": [1%s]}' % (b"0" * 400),
    b'{"inputs": "\xff"}',
    b'{"signature_name": "none", "inputs": [1]}',
    b'{"inputs": [null]}',
]


def wait_for(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited too long"
        time.sleep(0.02)


class Load:
    """Context manager whose threads send requests over both protocols while its block runs."""

    def __init__(self, server, name, threads=4):
        self.responses, self.errors = [], []
        self._server, self._name = server, name
        self._stop = threading.Event()
        kinds = [self._over_rest, self._over_grpc]
        self._threads = [threading.Thread(target=kinds[n % 2]) for n in range(threads)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _over_rest(self):
        url = f"http://127.0.0.1:{self._server.rest_port}/v1/models/{self._name}:predict"
        with requests.Session() as session:
            while not self._stop.is_set():
                found = session.post(url, data='{"inputs": [2.0]}', timeout=20)
                self._note(found.json().get("outputs"), found.status_code == 200)

    def _over_grpc(self):
        request = predict_request(self._name, {"x": np.array([2.0], "float32")})
        with grpc.insecure_channel(f"127.0.0.1:{self._server.grpc_port}") as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            while not self._stop.is_set():
                try:
                    self._note(list(stub.Predict(request, timeout=20).outputs["y"].float_val))
                except grpc.RpcError as error:
                    self._note(error.code(), False)

    def _note(self, response, good=True):
        (self.responses if good else self.errors).append(response)


@pytest.fixture
def half(tmp_path):
    save_half(tmp_path / "half" / "1", plus=1.0)
    return tmp_path / "half"


def post(server, name, body, **options):
    url = f"http://127.0.0.1:{server.rest_port}/v1/models/{name}:predict"
    return requests.post(url, data=body, timeout=30, **options)


def test_a_version_rolled_in_and_back_under_load(half):
    with serving(half, poll_seconds=0.05) as server, Load(server, "half") as load:
        model = server._core.pool.models["half"]
        wait_for(lambda: len(load.responses) > 20)
        save_half(half / "2", plus=2.0)
        wait_for(lambda: model.available == [2])
        wait_for(lambda: load.responses[-1] == [3.0])
        (half / "2").rename(half.parent / "gone")
        wait_for(lambda: model.available == [1])
        wait_for(lambda: load.responses[-1] == [2.0])
    assert load.errors == []
    assert all(response in ([2.0], [3.0]) for response in load.responses)


def test_a_corrupt_version_dropped_in(half):
    with serving(half, poll_seconds=0.05) as server, Load(server, "half", 2) as load:
        save_half(half.parent / "broken")
        (half.parent / "broken" / "saved_model.pb").write_bytes(b"torn")
        (half.parent / "broken").rename(half / "2")
        wait_for(lambda: server._core.pool.status("half")[0][:2] == (2, "END"))
        url = f"http://127.0.0.1:{server.rest_port}/v1/models/half/versions/2"
        (told,) = requests.get(url, timeout=20).json()["model_version_status"]
        assert told["state"] == "END" and told["status"]["error_code"] == "INVALID_ARGUMENT"
        message = told["status"]["error_message"]
        assert message.startswith("half/2 cannot be loaded as a SavedModel")
        assert str(half.parent) not in message
        count = len(load.responses)
        wait_for(lambda: len(load.responses) > count + 20)
        shutil.rmtree(half / "2")  # repairs the version
        save_half(half / "2", plus=2.0)
        wait_for(lambda: load.responses[-1] == [3.0])
    assert load.errors == []


def test_a_version_whose_warm_up_fails(half):
    write_warm_up(save_half(half / "2"), "no number")
    with serving(half) as server:
        (_, state, error), (_, first, _) = server._core.pool.status("half")
        assert (state, first) == ("END", "AVAILABLE") and "warm-up request 1 must succeed" in str(
            error
        )


def test_a_full_queue(models):
    """Accepted requests are finished, and the others are rejected at once."""
    options = {"max_requests": 3, "batching": BatchOptions(max_batch_size=0)}
    with serving(models / "zoo", **options) as server:
        found = []

        def ask(number):
            body = '{"signature_name": "slow", "instances": ["%s"]}' % ("x" * 1_000)
            found.append(post(server, "zoo", body))

        with at_the_same_time(ask, 8):
            wait_for(lambda: server._core.in_progress == 3)
            request = predict_request("zoo", {"text": ["a"]})
            with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
                stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
                with pytest.raises(grpc.RpcError) as caught:
                    stub.Predict(request, timeout=20)
                assert caught.value.code() == grpc.StatusCode.UNAVAILABLE
                status = get_model_status_pb2.GetModelStatusRequest()
                status.model_spec.name = "zoo"
                service = model_service_pb2_grpc.ModelServiceStub(channel)
                assert service.GetModelStatus(status, timeout=20).model_version_status
            assert server._core.in_progress == 3  # health probes get responses regardless
            url = f"http://127.0.0.1:{server.rest_port}/v1/models/zoo"
            for path in "", "/metadata":
                assert requests.get(url + path, timeout=20).status_code == 200
        codes = sorted(response.status_code for response in found)
        assert codes.count(200) >= 3 and codes.count(200) + codes.count(503) == 8
        assert 503 in codes and post(server, "zoo", '{"inputs": ["a"]}').status_code == 200
        full = next(response for response in found if response.status_code == 503)
        assert "requests are in progress" in full.json()["error"]


def test_a_request_that_takes_too_long(models):
    with serving(models / "zoo", timeout_seconds=0.2) as server:
        body = '{"signature_name": "slow", "instances": ["%s"]}' % ("x" * 3_000)
        assert post(server, "zoo", body).status_code == 504
        request = predict_request("zoo", {"text": ["x" * 3_000]}, "slow")
        with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            with pytest.raises(grpc.RpcError) as caught:
                stub.Predict(request, timeout=20)
        assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        assert "took longer than 0.2 seconds" in caught.value.details()
        # Both continue in the graph, so that others may also exceed 0.2 seconds.
        responses = (post(server, "zoo", '{"inputs": ["a"]}').status_code for _ in range(50))
        assert 200 in responses


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_malformed_requests_and_slow_clients(half, times):
    """No request of another client fails in the meantime."""
    with serving(half, header_seconds=5.0) as server, Load(server, "half", 2) as load:
        with contextlib.ExitStack() as stack:
            for _ in range(20):
                address = ("127.0.0.1", server.rest_port)
                client = stack.enter_context(socket.create_connection(address, timeout=20))
                client.sendall(b"POST /v1/models/half:predict HTTP/1.1\r\n")
            url = f"http://127.0.0.1:{server.rest_port}/v1/models/half:predict"
            with requests.Session() as session:
                for number in range(40 * times):
                    body = MALFORMED[number % len(MALFORMED)]
                    assert session.post(url, data=body, timeout=20).status_code == 400
            with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
                raw = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
                for number in range(10 * times):
                    with pytest.raises(grpc.RpcError):
                        raw(b"\xff\xfe%d" % number, timeout=20)
            count = len(load.responses)
            wait_for(lambda: len(load.responses) > count + 10)
    assert load.errors == [] and len(load.responses) > 10
    assert all(response == [2.0] for response in load.responses)


def test_nothing_to_serve(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="contains no version of a model to serve"):
        serving(tmp_path / "empty").start()
    (tmp_path / "empty" / "1").mkdir()
    with pytest.raises(ValueError, match="empty: no version can be served. .*saved_model.pb"):
        serving(tmp_path / "empty").start()


def test_a_version_that_loads_for_long_does_not_hold_up_the_end(half, monkeypatch):
    loading, go_on = threading.Event(), threading.Event()
    load = model_server.Servable

    def load_slowly(folder, options):
        if folder.name == "2":
            loading.set()
            go_on.wait(60)
            raise ValueError("too late")
        return load(folder, options)

    monkeypatch.setattr(model_server, "Servable", load_slowly)
    server = serving(half, poll_seconds=0.01)
    server.start()
    save_half(half / "2")
    assert loading.wait(20)
    begin = time.monotonic()
    assert server.stop(2.0)
    assert time.monotonic() - begin < 10
    go_on.set()
