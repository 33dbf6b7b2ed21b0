"""Tests that clients that do not read their responses occupy no worker threads."""

import contextlib
import json
import socket

import grpc
import pytest
import requests
from tensorflow_serving.apis import prediction_service_pb2_grpc

from tests.serving.server.small_models import predict_request, serving
from tests.serving.server.test_model_server import wait_for

LARGE = "y" * 4_000_000  # more than the network buffers


@pytest.fixture(scope="module")
def few(models):
    """Yields a running server that accepts at most two requests at a time."""
    with serving(models / "zoo", max_requests=2) as server:
        yield server


@pytest.mark.slow
def test_over_rest(few):
    body = json.dumps({"signature_name": "echo", "inputs": {"x": [LARGE]}}).encode()
    head = b"POST /v1/models/zoo:predict HTTP/1.1\r\nHost: localhost\r\n"
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            address = "127.0.0.1", few.rest_port
            client = stack.enter_context(socket.create_connection(address, timeout=20))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            assert client.recv(12) == b"HTTP/1.1 200"  # the client reads nothing after the status
            wait_for(lambda: few._core.in_progress == 0)
        url = f"http://127.0.0.1:{few.rest_port}/v1/models/zoo:predict"
        assert requests.post(url, data='{"instances": ["a"]}', timeout=20).status_code == 200


def test_over_grpc(few):
    """Other calls get responses while the flow control of a channel is full."""
    options = [("grpc.http2.lookahead_bytes", 65_536), ("grpc.max_receive_message_length", -1)]
    with contextlib.ExitStack() as stack:
        for number in range(6):
            channel = stack.enter_context(
                grpc.insecure_channel(
                    f"127.0.0.1:{few.grpc_port}", [*options, ("grpc.arg_number", number)]
                )
            )
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            stub.Predict.future(predict_request("zoo", {"x": [LARGE]}, "echo"), timeout=60)
            wait_for(lambda: few._core.in_progress == 0)
        assert stub.Predict(predict_request("zoo", {"text": ["a"]}), timeout=20).outputs
