"""Tests the HTTP port: slow and broken clients, and additional routes."""

import contextlib
import socket
import time

import pytest
import requests
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tests.serving.server.small_models import serving

LARGE = 30_000_000  # bytes, more than the network buffers


@pytest.fixture(scope="module")
def patient(models):
    """Yields a running server with a limit of 1 s for headers and 0.5 s for responses."""
    server = serving(
        models / "half_plus_two",
        grpc_port=None,
        header_seconds=1.0,
        timeout_seconds=0.5,
        make_routes=lambda server: [
            Route("/page", lambda request: PlainTextResponse("".join(server._core.pool.models))),
            Route("/large", lambda request: PlainTextResponse("x" * LARGE)),
        ],
    )
    with server:
        yield server


def address(server, path=""):
    return f"http://127.0.0.1:{server.rest_port}{path}"


def predict(server):
    found = requests.post(
        address(server, "/v1/models/half_plus_two:predict"), data='{"inputs": [2.0]}', timeout=20
    )
    return found.status_code, found.json()


@contextlib.contextmanager
def connected(server):
    with socket.create_connection(("127.0.0.1", server.rest_port), timeout=20) as client:
        yield client


def test_slow_heads_are_let_go_and_hinder_nobody(patient):
    with contextlib.ExitStack() as stack:
        slow = [stack.enter_context(connected(patient)) for _ in range(50)]
        for client in slow:
            client.sendall(b"POST /v1/models/half_plus_two:predict HTTP/1.1\r\nX: ")
        assert predict(patient) == (200, {"outputs": [3.0]})
        time.sleep(0.5)
        for client in slow:
            client.sendall(b"y")  # a byte at a time
        begin = time.monotonic()
        for client in slow:
            assert client.recv(100) == b""
        assert time.monotonic() - begin < 5
    assert predict(patient) == (200, {"outputs": [3.0]})


def test_slow_bodies_get_408(patient):
    with connected(patient) as client:
        client.sendall(
            b"POST /v1/models/half_plus_two:predict HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
        assert client.recv(100).startswith(b"HTTP/1.1 408")
    with connected(patient) as client:  # a client that disconnects causes no error
        client.sendall(
            b"POST /v1/models/half_plus_two:predict HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Length: 100\r\n\r\n{"
        )
    assert predict(patient) == (200, {"outputs": [3.0]})


def test_a_client_that_takes_nothing_of_its_answer_is_let_go(patient):
    with connected(patient) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
        time.sleep(3)
        size = 0
        with contextlib.suppress(ConnectionResetError):
            while part := client.recv(2**20):
                size += len(part)
        assert size < LARGE
    assert predict(patient) == (200, {"outputs": [3.0]})


def test_a_client_that_takes_its_answer_slowly_gets_it(patient):
    with connected(patient) as client:
        client.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        size, begin = 0, time.monotonic()
        while part := client.recv(2**20):
            size += len(part)
            if time.monotonic() - begin < 2.5:
                time.sleep(0.1)
        assert size > LARGE


def test_a_body_that_never_ends_after_its_answer(patient):
    with connected(patient) as client:
        client.sendall(
            b"POST /v1/models/nonsense HTTP/1.1\r\nHost: localhost\r\n"
            b"Content-Length: 1000000000\r\n\r\n"
        )
        assert client.recv(1000).startswith(b"HTTP/1.1 400")
        client.sendall(b"x")
        client.settimeout(10)
        with contextlib.suppress(ConnectionResetError):
            while client.recv(1000):
                pass


@pytest.mark.parametrize("junk", [b"\0\xff\r\n\r\n", b"GET / HTTX/1.1\r\n\r\n", b"x" * 100_000])
def test_junk_is_no_http(patient, junk):
    with connected(patient) as client:
        with contextlib.suppress(OSError):
            client.sendall(junk)
            assert client.recv(100).startswith(b"HTTP/1.1 400")
    assert predict(patient) == (200, {"outputs": [3.0]})


def test_a_connection_is_used_again_and_again(patient):
    """Connections are reused. Small responses are not delayed (40 ms without TCP_NODELAY)."""
    with requests.Session() as session:
        begin = time.monotonic()
        for _ in range(50):
            found = session.get(address(patient, "/v1/models/half_plus_two"), timeout=20)
            assert found.status_code == 200
        assert time.monotonic() - begin < 1.5


def test_more_routes(patient):
    assert requests.get(address(patient, "/page"), timeout=20).text == "half_plus_two"


def test_a_port_in_use(patient, models):
    """The port that was opened before the error is closed again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(OSError, match="Cannot listen on 127.0.0.1"):
        serving(models / "zoo", rest_port=patient.rest_port, grpc_port=port)
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=20)


def test_it_listens_on_loopback_only(patient):
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", patient.rest_port), timeout=20)
