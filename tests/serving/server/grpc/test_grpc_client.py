"""Tests that the gRPC client returns the same outputs as the REST client."""

import numpy as np
import pytest

from tfreps.serving.server.grpc.grpc_client import GrpcClient, as_python
from tfreps.serving.server.rest.rest_client import RestClient


@pytest.fixture
def client(server):
    client = GrpcClient(f"127.0.0.1:{server.grpc_port}")
    yield client
    client.close()


def test_both_protocols_answer_alike(client, server):
    rest = RestClient(f"http://127.0.0.1:{server.rest_port}")
    for asked in (("zoo", ["ab", "é", ""]), ("zoo", ["a"], "picky"), ("zoo", ["a"], "", 7)):
        assert client.predict(*asked) == rest.predict(*asked)
    assert client.status("half_plus_two") == rest.status("half_plus_two")
    rest.close()


@pytest.mark.parametrize(
    "which, words",
    [
        (("none",), "The server returned NOT_FOUND: Servable not found"),
        (("zoo", "no"), "signatures of the model, .*serving_default.*; got 'no'"),
        (("zoo", "two"), "single input of type string; 'two' has the inputs a, b"),
        (("half_plus_two",), "has the inputs x"),
    ],
)
def test_what_cannot_be_asked(client, which, words):
    model, *signature = which
    with pytest.raises(ValueError, match=words):
        client.predict(model, ["a"], *signature)


def test_nobody_there():
    client = GrpcClient("127.0.0.1:1", timeout=10)
    with pytest.raises(ValueError, match="No server responds at 127.0.0.1:1"):
        client.status("zoo")
    client.close()


def test_values():
    texts = np.array([[b"a\0"], ["é".encode()]], object)
    assert as_python(texts) == [["a\0"], ["é"]] and as_python(texts[0, 0]) == "a\0"
    assert as_python(np.float32([0.5])) == [0.5] and as_python(np.int64(3)) == 3
