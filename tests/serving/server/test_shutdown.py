"""Tests shutdown: requests that have arrived get a response; others are not waited for."""

import http.client
import socket
import threading
import time

import grpc
from tensorflow_serving.apis import prediction_service_pb2_grpc

from tests.serving.server.small_models import (
    at_the_same_time,
    predict_request,
    save_half,
    save_zoo,
    serving,
)

HEAD = b"POST /v1/models/half/versions/1:predict HTTP/1.1\r\nHost: localhost\r\n"


def test_keep_alive_connections_end_with_connection_close(tmp_path):
    """No client gets a connection reset: its last response closes the connection."""
    save_half(tmp_path / "half" / "1")
    server = serving(tmp_path / "half", grpc_port=None)
    server.start()
    begun, last, failed = threading.Semaphore(0), [], []

    def ask_on(number):
        client = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=20)
        try:
            for count in range(100_000):
                client.request("POST", "/v1/models/half:predict", '{"inputs": [2.0]}')
                response = client.getresponse()
                body = response.read()
                if count == 2:
                    begun.release()
                if response.getheader("Connection") == "close":
                    last.append((response.status, body))
                    break
                time.sleep(0.001 * (number % 3))  # may be between two requests at shutdown
        except (OSError, http.client.HTTPException) as error:
            failed.append(repr(error))

    with at_the_same_time(ask_on, 16):
        for _ in range(16):
            assert begun.acquire(timeout=20)
        assert server.stop(20)
    assert failed == []
    assert last == [(200, b'{"outputs": [3.0]}')] * 16


def test_half_a_request_is_not_waited_for(tmp_path):
    save_half(tmp_path / "half" / "1")
    server = serving(tmp_path / "half", grpc_port=None)
    server.start()
    halves = (
        b"",
        HEAD,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{'inp",
        HEAD + b"Content-Length: 100\r\n\r\n{",
    )
    clients = []
    for half in halves:
        clients.append(socket.create_connection(("127.0.0.1", server.rest_port), timeout=20))
        clients[-1].sendall(half)
    time.sleep(0.1)
    begin = time.monotonic()
    assert server.stop(30)
    assert time.monotonic() - begin < 10
    for client in clients:
        client.close()


def test_calls_that_have_arrived_are_answered(tmp_path):
    """Under load over gRPC, every call gets a response or UNAVAILABLE."""
    save_zoo(tmp_path / "zoo" / "1")
    server = serving(tmp_path / "zoo", rest_port=None)
    server.start()
    begun, found = threading.Semaphore(0), []
    request = predict_request("zoo", {"text": ["x" * 50]}, "slow")

    def ask_on(number):
        with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            try:
                while stub.Predict(request, timeout=20).outputs["total"].float_val:
                    begun.release()
                    found.append("OK")
            except grpc.RpcError as error:
                found.append(error.code().name)

    with at_the_same_time(ask_on, 8):
        for _ in range(16):
            assert begun.acquire(timeout=20)
        assert server.stop(20)
    assert set(found) == {"OK", "UNAVAILABLE"} and found.count("UNAVAILABLE") == 8
