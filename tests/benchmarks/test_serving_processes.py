"""Servers in processes of their own, and the ports that they print."""

from benchmarks.serving_processes import running


def test_the_process_ends_with_the_block():
    with running(["benchmarks.serving_echo", "7"], num_ports=1) as (process, ports):
        assert process.poll() is None and list(ports) == ["gRPC"] and ports["gRPC"] > 0
    assert process.poll() is not None
