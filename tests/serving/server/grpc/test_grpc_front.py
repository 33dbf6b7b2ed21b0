"""Tests the gRPC port: health service, sizes of messages, ports in use, TLS."""

import asyncio
import pathlib
import shutil
import socket
import ssl
import subprocess
import time

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow_serving.apis import prediction_service_pb2_grpc

from tests.serving.server.small_models import predict_request, serving
from tests.serving.server.test_model_server import wait_for


def health(channel, service=""):
    request = health_pb2.HealthCheckRequest(service=service)
    return health_pb2_grpc.HealthStub(channel).Check(request, timeout=20).status


def test_health(channel, server):
    services = "PredictionService", "ModelService"
    names = "", "zoo", *services, *(f"tensorflow.serving.{name}" for name in services)
    assert {health(channel, name) for name in names} == {health_pb2.HealthCheckResponse.SERVING}
    with pytest.raises(grpc.RpcError) as caught:
        health(channel, "unknown")
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND


def test_health_is_watched(channel):
    stub = health_pb2_grpc.HealthStub(channel)
    for service, status in (("zoo", "SERVING"), ("unknown", "SERVICE_UNKNOWN")):
        watch = stub.Watch(health_pb2.HealthCheckRequest(service=service), timeout=20)
        assert next(watch).status == health_pb2.HealthCheckResponse.ServingStatus.Value(status)
        watch.cancel()


def test_garbage_is_told_to_its_sender_only(channel, caplog):
    for name in ("tensorflow.serving.PredictionService/Predict", "grpc.health.v1.Health/Check"):
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(f"/{name}")(b"\xff\xff\xff\xff\0", timeout=20)
        assert caught.value.code() == grpc.StatusCode.INTERNAL
    assert caplog.text == ""
    assert health(channel) == health_pb2.HealthCheckResponse.SERVING


def test_a_port_in_use(server, models):
    with pytest.raises(OSError, match="gRPC"):
        serving(models / "zoo", grpc_port=server.grpc_port, rest_port=None)


def test_calls_beyond_a_limit_are_not_received(models, monkeypatch):
    """Received messages would take memory before the queue could reject the calls."""
    with serving(models / "zoo", rest_port=None, max_requests=1) as server:

        async def hang(*given, **options):
            await asyncio.sleep(60)

        monkeypatch.setattr(server._core, "respond", hang)
        with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            request = predict_request("zoo", {"text": ["x"]})
            calls = [stub.Predict.future(request, timeout=60) for _ in range(30)]
            codes = []
            for call in calls:
                call.add_done_callback(lambda call: codes.append(call.code()))
            wait_for(lambda: len(codes) == 10)
            assert set(codes) == {grpc.StatusCode.RESOURCE_EXHAUSTED}
            for call in calls:
                call.cancel()
        monkeypatch.undo()


def test_large_messages(channel, models):
    """Requests above grpcio's default of 4 MB are accepted, up to the limit in the options."""
    request = predict_request("zoo", {"text": ["x" * 5_000_000]})
    request.output_filter.append("length")
    stub = prediction_service_pb2_grpc.PredictionServiceStub
    assert stub(channel).Predict(request, timeout=20).outputs["length"].int_val == [5_000_000]
    with serving(models / "zoo", rest_port=None, max_message_mb=1) as small:
        with grpc.insecure_channel(f"127.0.0.1:{small.grpc_port}") as other:
            with pytest.raises(grpc.RpcError) as caught:
                stub(other).Predict(request, timeout=20)
            assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            response = stub(other).Predict(predict_request("zoo", {"text": ["x"]}), timeout=20)
            assert response.outputs["length"].int_val == [1]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """Returns `(certificate, key)` for localhost as PEM files."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the program openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *names]
    subprocess.run([*command, "-out", cert, "-keyout", key], check=True, capture_output=True)
    return str(cert), str(key)


def test_tls_on_both_ports(models, certificate):
    import requests

    cert, key = certificate
    with serving(models / "half_plus_two", tls_cert=cert, tls_key=key) as server:
        trusted = grpc.ssl_channel_credentials(pathlib.Path(cert).read_bytes())
        with grpc.secure_channel(f"localhost:{server.grpc_port}", trusted) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            response = stub.Predict(predict_request("half_plus_two", {"x": [2.0]}), timeout=20)
            assert response.outputs["y"].float_val == [3.0]
        address = f"https://127.0.0.1:{server.rest_port}/v1/models/half_plus_two:predict"
        found = requests.post(address, data='{"inputs": [2.0]}', verify=cert, timeout=20)
        assert found.json() == {"outputs": [3.0]}


def test_an_idle_tls_connection_does_not_delay_the_end(models, certificate, caplog):
    """The client never confirms that the connection ends, and nothing is logged."""
    cert, key = certificate
    trusted = ssl.create_default_context(cafile=cert)
    server = serving(models / "half_plus_two", grpc_port=None, tls_cert=cert, tls_key=key)
    server.start()
    plain = socket.create_connection(("127.0.0.1", server.rest_port), timeout=20)
    with trusted.wrap_socket(plain, server_hostname="localhost"):
        begin = time.monotonic()
        assert server.stop(30)
        assert time.monotonic() - begin < 10
    assert not [record for record in caplog.records if record.name == "asyncio"]
