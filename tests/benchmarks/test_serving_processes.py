"""Servers in processes of their own, and the ports that they print."""

from benchmarks.serving_load import grpc_client
from benchmarks.serving_processes import bare_server, running


def test_the_process_ends_with_the_block():
    with running(["benchmarks.serving_echo", "7"], num_ports=1) as (process, ports):
        assert process.poll() is None and list(ports) == ["gRPC"] and ports["gRPC"] > 0
    assert process.poll() is not None


def test_a_bare_server_answers_with_as_many_bytes():
    closed = []
    with bare_server(lambda: (lambda: b"12345", lambda: closed.append(1))) as ports:
        ask, close = grpc_client(ports["gRPC"], b"a request")
        assert ask() == bytes(5) and closed == [1]
        close()
