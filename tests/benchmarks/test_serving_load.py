"""Tests the clients with a server that counts its answers."""

import functools

import pytest

from benchmarks.serving_load import (
    Load,
    grpc_client,
    grpc_message,
    median_ms,
    rest_client,
    rest_message,
    run_clients,
    run_processes,
    share_of,
    times_of,
)
from tests.server.small_models import save_zoo, serving


def test_percentiles_are_answers_that_were_seen():
    load = Load([number / 1000 for number in range(100, 0, -1)], [], 4.0)
    assert load.percentile(0.5) == pytest.approx(50) and load.per_second == 25
    assert load.percentile(0.99) == pytest.approx(99) and load.percentile(1.0) == 100
    assert Load([0.003], [], 1.0).percentile(0.5) == 3


def test_every_request_is_counted_once_and_failures_apart():
    asked, closed = [], []

    def make():
        def ask():
            asked.append(1)
            if len(asked) % 5 == 0:
                raise OSError("the fifth")

        return ask, lambda: closed.append(1)

    load = run_clients(make, 3, requests=60)
    assert len(load.latencies) + len(load.failures) == 60 and len(asked) == 63
    assert len(load.failures) >= 11 and "the fifth" in load.failures[0] and len(closed) == 3


def test_a_client_that_cannot_connect_ends_the_others():
    made = []

    def ask():
        if len(made) > 2:
            raise OSError("refused")

    def make():
        made.append(1)
        return ask, lambda: None

    with pytest.raises(OSError, match="first request of a client failed: OSError.'refused'"):
        run_clients(make, 3, requests=60)


@pytest.mark.parametrize("protocol", ["grpc", "rest"])
def test_both_protocols(tmp_path, protocol):
    save_zoo(tmp_path / "zoo" / "1")
    make, message = {
        "grpc": (grpc_client, grpc_message),
        "rest": (rest_client, rest_message),
    }[protocol]
    with serving(tmp_path / "zoo") as server:
        port = getattr(server, f"{protocol}_port")
        client = functools.partial(make, port, message("zoo", "a text"))
        load = run_processes(client, 3, requests=20)
        assert len(load.latencies) == 20 and not load.failures
        ask, close = make(port, message("nobody", "a text"))
        with pytest.raises(Exception, match="(?i)not.found|404"):
            ask()
        close()


def test_processes_share_clients_and_requests():
    assert [share_of(7, number, 3) for number in range(3)] == [3, 2, 2]
    assert share_of(None, 0, 3) is None
    with pytest.raises(OSError, match="first request of a client failed"):
        run_processes(functools.partial(rest_client, 1, ("zoo", "{}")), 2, requests=2)


def test_times_of_calls_do_not_contain_the_pauses():
    found = times_of(lambda: None, 0.05, pause=0.01)
    assert 0 < len(found) <= 5 and 0 < min(found) < 0.01


def test_a_call_in_this_process():
    assert 0 < median_ms(lambda: sum(range(1000)), 0.02) < 10
