"""The benchmark of the server: its clients count each request once, and every part prints."""

import functools
import re

import pytest

from benchmarks import serving
from benchmarks.processes import processes_of, resident_mb
from benchmarks.serving_arrivals import run_arrivals
from benchmarks.serving_load import grpc_client, rest_client, run_clients, run_processes, times_of
from benchmarks.serving_processes import running


@pytest.mark.slow
def test_every_part_prints_its_figures(capsys):
    assert serving.main(["--seconds", "1", "--requests", "400"]) == 0
    out = capsys.readouterr().out
    assert "FAILED" not in out
    row = r"^\| (gRPC|REST) \| \d+ \| [\d.]+ \| [\d.]+ \| \d+ \|"
    assert len(re.findall(row, out, re.M)) == 8
    row = r"^  (gRPC|REST): p50 [\d.]+ ms; minus the model [\d.-]+ ms$"
    assert len(re.findall(row, out, re.M)) == 2
    assert re.search(r"^  bare gRPC server: p50 [\d.]+ ms$", out, re.M)
    assert len(re.findall(r"^\d+ requests/s at random times, gRPC: p50 [\d.]+ ms", out, re.M)) == 2
    assert re.search(r"batched \d+, unbatched \d+ requests/s: [\d.]+ x", out)
    assert re.search(r"after 40 requests \d+ MB, after 400 \d+ MB: [+-][\d.]+ %", out)
    assert re.search(r"[1-9]\d* new versions under load: [\d,]+ answers, 0 failures", out)


@pytest.mark.slow
def test_clients_and_arrivals_are_answered_by_a_bare_server():
    with running(["benchmarks.serving_echo", "7"], num_ports=1) as (process, ports):
        assert processes_of(process.pid)[0] == process.pid and resident_mb(process.pid) > 1
        ask, close = grpc_client(ports["gRPC"], b"a request")
        assert ask() == bytes(7)
        close()
        client = functools.partial(grpc_client, ports["gRPC"], b"a request")
        load = run_processes(client, 3, requests=20)
        assert len(load.latencies) == 20 and not load.failures and load.percentile(0.5) > 0
        load = run_arrivals(ports["gRPC"], b"a request", 100, 0.5, connections=2)
        assert len(load.latencies) > 20 and not load.failures
    assert process.poll() is not None


def test_every_request_is_counted_once_and_failures_apart():
    def make():
        def ask():
            asked.append(1)
            if len(asked) % 5 == 0:
                raise OSError("the fifth")

        return ask, lambda: closed.append(1)

    asked, closed = [], []
    load = run_clients(make, 3, requests=60)
    assert len(load.latencies) + len(load.failures) == 60 and len(asked) == 63
    assert len(load.failures) >= 11 and "the fifth" in load.failures[0] and len(closed) == 3
    assert 0 < min(times_of(lambda: None, 0.01)) < 0.01


def test_a_client_that_cannot_connect_ends_the_others():
    with pytest.raises(OSError, match="first request of a client failed"):
        run_processes(functools.partial(rest_client, 1, ("zoo", "{}")), 2, requests=2)
