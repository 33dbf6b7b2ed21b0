"""Tests the clients with a server that counts its answers."""

import pytest

from benchmarks.serving_load import Load, grpc_client, median_ms, rest_client, run_clients
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


@pytest.mark.parametrize("make, port", [(grpc_client, "grpc_port"), (rest_client, "rest_port")])
def test_both_protocols(tmp_path, make, port):
    save_zoo(tmp_path / "zoo" / "1")
    with serving(tmp_path / "zoo") as server:
        number = getattr(server, port)
        load = run_clients(lambda: make(number, "zoo", "a text"), 2, requests=20)
        assert len(load.latencies) == 20 and not load.failures
        ask, close = make(number, "nobody", "a text")
        with pytest.raises(Exception, match="(?i)not.found|404"):
            ask()
        close()


def test_a_call_in_this_process():
    assert 0 < median_ms(lambda: sum(range(1000)), 0.02) < 10
