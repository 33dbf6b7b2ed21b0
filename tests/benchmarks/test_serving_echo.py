"""A bare server that answers with so many bytes."""

from benchmarks.serving_load import grpc_client
from benchmarks.serving_processes import running


def test_every_answer_has_the_size():
    with running(["benchmarks.serving_echo", "391"], num_ports=1) as (_, ports):
        ask, close = grpc_client(ports["gRPC"], b"a request")
        assert ask() == bytes(391)
        close()
