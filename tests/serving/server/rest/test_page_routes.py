"""Tests the routes of the web page over HTTP."""

import contextlib
import http.client
import json

import pytest
import requests

from tests.conftest import CHECKOUT
from tests.serving.server.rest.test_context_neighbors import save_models
from tests.serving.server.small_models import serving
from tfreps.serving.server.rest.page_routes import LARGEST_BODY, page_routes

PAGE = CHECKOUT / "serving" / "page"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folders = save_models(tmp_path_factory.mktemp("models"))
    with serving(*folders, make_routes=lambda s: page_routes(s._core, PAGE, ["a ccc"])) as server:
        yield f"http://127.0.0.1:{server.rest_port}"


def test_the_files_and_nothing_else(address):
    assert requests.get(address).url == f"{address}/page/"
    for path in PAGE.iterdir():
        response = requests.get(f"{address}/page/{path.name}")
        assert (response.status_code, response.content) == (200, path.read_bytes())
    assert requests.get(f"{address}/page/").content == (PAGE / "index.html").read_bytes()
    host, port = address.removeprefix("http://").split(":")
    for wrong in ("../serve.py", "..%2fserve.py", "%2e%2e/serve.py", "no.js", "//etc/passwd"):
        connection = http.client.HTTPConnection(host, int(port), timeout=20)
        with contextlib.closing(connection):
            connection.request("GET", f"/page/{wrong}")  # requests would normalize it
            assert connection.getresponse().status == 404


def test_the_page_may_load_from_here_alone(address):
    policy = requests.get(f"{address}/page/").headers["content-security-policy"]
    assert policy.startswith("default-src 'self';")
    for path in PAGE.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "//" not in text.replace("// ", "").replace("\n//", ""), f"{path}: another host?"
        assert "innerHTML" not in text and "style=" not in text


def test_models_that_read_text(address):
    found = {entry["name"]: entry for entry in requests.get(f"{address}/page/models").json()}
    assert found["bilm"]["signature"] == "explain" and found["plain"]["signature"] == "default"
    assert found["label"] == {
        **{"name": "label", "version": 1, "signature": "serving_default", "outputs": ["label"]},
    }
    assert found["bilm"]["outputs"] == ["elmo", "sequence_len", "tokens"]


def nearest(address, **asked):
    asked = {"model": "bilm", "texts": ["bb a"], "text": 0, "token": 0, **asked}
    return requests.post(f"{address}/page/neighbors", data=json.dumps(asked))


def test_neighbors(address):
    response = nearest(address)
    assert response.status_code == 200
    # bb [2, 0, 2] and a [1, 0, 2]: 6 / sqrt(8 * 5); ccc [3, 1, 2]: 10 / sqrt(8 * 14);
    # the a of the text [1, 1, 2]: 6 / sqrt(8 * 6).
    assert [(word["token"], word["similarity"]) for word in response.json()] == [
        *(("a", 0.9487), ("ccc", 0.9449), ("a", 0.866)),
    ]


@pytest.mark.parametrize(
    "wrong, status, message",
    [
        ({"model": "nobody"}, 404, "nobody"),
        ({"model": 3}, 400, "'model' is a string"),
        ({"model": "label"}, 400, "signature for raw text with the output `elmo`"),
        ({"texts": "bb"}, 400, "'texts' is an array of strings"),
        ({"texts": [3]}, 400, "must be an array of strings"),
        ({"token": True}, 400, "'token' is an integer"),
        ({"token": 9}, 400, "index of a token in text 0, counted from 0; got 9"),
        ({"text": 10**30}, 400, "`text` must be the index of one of the `texts`"),
        ({"text": -1}, 400, "`text` must be the index of one of the `texts`"),
        ({"texts": ["bb", ""], "text": 1}, 400, "index of a token in text 1"),
        ({"texts": ["bb"] * 201}, 400, "`texts` must contain 1 to 200 texts; got 201"),
        ({"texts": []}, 400, "`texts` must contain 1 to 200 texts; got 0"),
        ({"texts": ["\ud800 bb"], "token": 5}, 400, "got 5"),
        ({"texts": ["x" * LARGEST_BODY]}, 413, "larger"),
    ],
)
def test_what_cannot_be(address, wrong, status, message):
    response = nearest(address, **wrong)
    assert response.status_code == status and message in response.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[" * 50_000, b"3"])
def test_what_is_no_json(address, body):
    response = requests.post(f"{address}/page/neighbors", data=body)
    assert (response.status_code, "JSON" in response.json()["error"]) == (400, True)
