"""Tests the REST client."""

import socket

import pytest

from tfreps.serving.server.rest.rest_client import RestClient


@pytest.fixture
def client(server):
    client = RestClient(f"http://127.0.0.1:{server.rest_port}")
    yield client
    client.close()


def test_answers(client):
    assert client.predict("zoo", ["ab", "é"]) == [
        {"length": 2, "upper": "AB"},
        {"length": 2, "upper": "é"},
    ]
    assert client.predict("zoo", ["ab"], "picky", version=7) == [{"length": 2}]


def test_status(client):
    assert client.status("half_plus_two", label="stable") == [(123, "AVAILABLE", "")]


@pytest.mark.parametrize(
    "which, words",
    [
        (("none",), "The server returned status 404: Servable not found"),
        (("zoo", "no"), '400: Serving signature key "no"'),
        (("half_plus_two",), "400: .*must be of type float32; got a string"),
    ],
)
def test_what_the_server_refuses(client, which, words):
    model, *signature = which
    with pytest.raises(ValueError, match=words):
        client.predict(model, ["a"], *signature)


def test_nobody_there_and_somebody_else():
    with pytest.raises(ValueError, match="No server responds at http://127.0.0.1:1"):
        RestClient("http://127.0.0.1:1").status("zoo")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = RestClient(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=0.2)
        with pytest.raises(ValueError, match="did not respond within 0.2 seconds"):
            client.status("zoo")
        client.close()


def test_names_are_quoted():
    client = RestClient("http://x/")
    assert client.url("a/b c", 3) == "http://x/v1/models/a%2Fb%20c/versions/3"
