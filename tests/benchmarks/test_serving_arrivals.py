"""Requests at random times, to a bare server that runs in a process of its own."""

import threading

from benchmarks.serving_arrivals import run_arrivals
from benchmarks.serving_processes import running


def test_requests_arrive_at_the_rate_and_are_answered():
    with running(["benchmarks.serving_echo", "7"], num_ports=1) as (_, ports):
        load = run_arrivals(ports["gRPC"], b"a request", 200, 1.0, connections=2)
    assert 150 < len(load.latencies) < 250 and not load.failures
    assert load.percentile(0.5) > 0 and load.seconds > 0.9


def test_failures_are_counted_apart():
    with running(["benchmarks.serving_echo", "7"], num_ports=1) as (process, ports):
        run_arrivals(ports["gRPC"], b"a request", 50, 0.1, connections=2)  # imports gRPC
        threading.Timer(1.0, process.kill).start()
        load = run_arrivals(ports["gRPC"], b"a request", 50, 2.0, connections=2)
    assert load.latencies and "UNAVAILABLE" in load.failures[0]
