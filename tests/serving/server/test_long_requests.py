"""Long requests are rejected beyond the limits, and do not delay small ones."""

import contextlib
import json
import select
import socket
import time

import grpc
import pytest
import requests
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow_serving.apis import prediction_service_pb2_grpc

from tests.serving.server.small_models import at_the_same_time, predict_request, save_zoo, serving
from tests.serving.server.test_model_server import wait_for
from tfreps.serving.server.grpc import grpc_front
from tfreps.serving.server.models import servable
from tfreps.serving.server.requests import lane
from tfreps.serving.server.requests.server_options import BatchOptions

LONG = "x " * 3_000  # tokens for which `slow` takes two seconds
ENDLESS = "x " * 100_000


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """Returns `zoo` with a file that states that its texts are split at spaces."""
    folder = tmp_path_factory.mktemp("counted") / "zoo"
    extra = save_zoo(folder / "1") / "assets.extra"
    extra.mkdir()
    counts = {"tokens": "spaces", "most_per_text": None, "added_per_text": 0, "attends": False}
    (extra / "tfreps_counts.json").write_text(json.dumps(counts))
    return folder


@pytest.fixture(scope="module")
def server(counted):
    with serving(counted, max_tokens=4_000, max_text_tokens=3_500, max_response_mb=1) as server:
        yield server


def post(server, texts, signature=""):
    body = {"signature_name": signature, "instances": texts}
    url = f"http://127.0.0.1:{server.rest_port}/v1/models/zoo:predict"
    return requests.post(url, json=body, timeout=60)


@contextlib.contextmanager
def stub_of(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        yield prediction_service_pb2_grpc.PredictionServiceStub(channel)


TOO_LARGE = [
    (["a " * 3_501], ["A text may have at most 3500 tokens", "max_text_tokens"]),
    (["a " * 1_000, "", "", "", ""], ["5 texts", "at most 4000 tokens", "max_tokens"]),
    ([""] * 4_001, ["4001 texts", "has 4001", "max_tokens"]),
]


@pytest.mark.parametrize("texts, words", TOO_LARGE)
def test_what_is_too_large_is_refused_at_once(server, texts, words):
    found = post(server, texts)
    assert found.status_code == 413
    with stub_of(server) as stub, pytest.raises(grpc.RpcError) as caught:
        stub.Predict(predict_request("zoo", {"text": texts}), timeout=20)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    for word in words:
        assert word in found.json()["error"] and word in caught.value.details()


def test_answers_that_are_too_large(server):
    """8,000 bytes become 4 x 4 MB, as arrays over gRPC and as JSON over REST."""
    texts = ["y" * 600_000, "y" * 600_000]
    found = post(server, texts, "echo")
    assert found.status_code == 413 and "max_response_mb" in found.json()["error"]
    with stub_of(server) as stub, pytest.raises(grpc.RpcError) as caught:
        stub.Predict(predict_request("zoo", {"x": texts}, "echo"), timeout=20)
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "at most 1048576 bytes" in caught.value.details()
    assert post(server, ["y"], "echo").status_code == 200


def send(server, texts):
    """Sends a request to the signature `slow`; returns the connection."""
    body = json.dumps({"signature_name": "slow", "instances": texts}).encode()
    client = socket.create_connection(("127.0.0.1", server.rest_port), timeout=20)
    client.sendall(
        b"POST /v1/models/zoo:predict HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body) + body
    )
    return client


def test_small_requests_do_not_wait_for_long_ones(counted, monkeypatch):
    """One long request runs, some wait, and the others are rejected."""
    monkeypatch.setattr(servable, "LONG_WAITING", 16)
    with serving(counted, max_tokens=4_000, max_text_tokens=3_500) as server:
        clients = [send(server, [LONG]) for _ in range(20)]
        wait_for(lambda: server._core.in_progress == 17)
        wait_for(lambda: len(select.select(clients, [], [], 0)[0]) >= 3)  # they are rejected
        for _ in range(10):
            assert post(server, ["ab"]).json()["predictions"] == [{"length": 2, "upper": "AB"}]
        assert server._core.in_progress > 1
        assert requests.get(f"http://127.0.0.1:{server.rest_port}/healthz").status_code == 200
        rejected = select.select(clients, [], [], 0)[0]
        responses = [client.recv(1_000) for client in rejected]
        assert (
            sum(b" 503 " in response and b"16 long requests" in response for response in responses)
            == 3
        )
        for client in clients:
            client.close()
        wait_for(lambda: server._core.in_progress == 0)


@pytest.fixture(scope="module")
def patient(counted):
    with serving(counted, max_tokens=2**20, max_text_tokens=2**20) as server:
        yield server


def test_work_stops_when_the_client_hangs_up(patient):
    for _ in range(3):
        with send(patient, [ENDLESS]):
            wait_for(lambda: patient._core.in_progress == 1)
        wait_for(lambda: patient._core.in_progress == 0)


def test_work_stops_when_a_call_is_cancelled_or_late(patient):
    """A cancelled call does not affect other calls in progress."""
    request = predict_request("zoo", {"text": [ENDLESS]}, "slow")
    with stub_of(patient) as stub:
        for ends in ("cancelled", "late"):
            call = stub.Predict.future(request, timeout=60 if ends == "cancelled" else 0.5)
            wait_for(lambda: patient._core.in_progress == 1)
            if ends == "cancelled":
                call.cancel()
            wait_for(lambda: patient._core.in_progress == 0)
            assert call.exception() if ends == "late" else call.cancelled()
        response = stub.Predict(predict_request("zoo", {"text": ["ab"]}), timeout=20)
        assert list(response.outputs["length"].int_val) == [2]


def test_calls_cancelled_in_mid_batch(models):
    """Other calls in the batch get responses, and cancelled calls that still wait never start."""
    with serving(models / "zoo") as server, stub_of(server) as stub:
        slow = predict_request("zoo", {"text": ["x" * 1_000]}, "slow")
        calls = [stub.Predict.future(slow, timeout=30) for _ in range(24)]
        wait_for(lambda: server._core.in_progress == 24)
        for call in calls[::2]:
            call.cancel()
        assert all(call.result().outputs["total"].float_val for call in calls[1::2])
        wait_for(lambda: server._core.in_progress == 0)


@pytest.mark.slow
def test_health_while_the_workers_are_stuck(models, monkeypatch):
    monkeypatch.setattr(lane, "SLACK", 0.0)
    monkeypatch.setattr(grpc_front, "HEALTH_SECONDS", 0.02)
    together = BatchOptions(batch_timeout_ms=100)  # a batch is not stopped, unlike a single request
    with serving(models / "zoo", timeout_seconds=0.4, batching=together) as server:
        with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
            stub = health_pb2_grpc.HealthStub(channel)

            def told():
                rest = requests.get(f"http://127.0.0.1:{server.rest_port}/healthz", timeout=20)
                names = "", "zoo"
                asked = [health_pb2.HealthCheckRequest(service=name) for name in names]
                return rest.status_code, *(stub.Check(one, timeout=20).status for one in asked)

            good, bad = health_pb2.HealthCheckResponse.SERVING, 2
            wait_for(lambda: told() == (200, good, good))
            codes = []
            late = lambda _: codes.append(post(server, ["x" * 6_000], "slow").status_code)  # noqa: E731
            with at_the_same_time(late, 2):
                wait_for(lambda: told() == (503, bad, bad))
            assert codes == [504, 504]
            wait_for(lambda: told() == (200, good, good), 60)
            assert post(server, ["ab"]).status_code in (200, 504)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_requests(server):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4_096

    with requests.Session() as session, stub_of(server) as stub:
        url = f"http://127.0.0.1:{server.rest_port}/v1/models/zoo:predict"
        request = predict_request("zoo", {"text": ["ab"]})

        def ask(count):
            for _ in range(count // 2):
                assert session.post(url, data='{"instances": ["ab"]}').status_code == 200
                stub.Predict(request, timeout=20)

        ask(4_000)
        before, begin = resident(), time.monotonic()
        ask(20_000)
        assert resident() - before < 60e6, time.monotonic() - begin
