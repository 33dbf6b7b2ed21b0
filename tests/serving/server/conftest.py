"""Fixtures of the server's tests: models and a server, one for all tests of a file."""

import grpc
import pytest
import requests

from tests.serving.server.small_models import save_half, save_zoo, serving, write_warm_up


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Returns a folder with the base paths `half_plus_two` (version 123) and `zoo` (version 7)."""
    folder = tmp_path_factory.mktemp("models")
    save_half(folder / "half_plus_two" / "123")
    write_warm_up(save_zoo(folder / "zoo" / "7"), "abc", "de")
    return folder


@pytest.fixture(scope="module")
def server(models):
    """Returns a server of both models on free ports; `half_plus_two` has the label `stable`."""
    server = serving(models / "half_plus_two", models / "zoo", max_body_mb=1)
    server._core.pool.models["half_plus_two"].config.labels["stable"] = 123
    with server:
        yield server


@pytest.fixture(scope="module")
def rest(server):
    """Returns a function from method, path and body to the response of the REST port."""
    with requests.Session() as session:

        def ask(method, path, body=None, **options):
            address = f"http://127.0.0.1:{server.rest_port}{path}"
            return session.request(method, address, data=body, timeout=20, **options)

        yield ask


@pytest.fixture(scope="module")
def channel(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        yield channel
