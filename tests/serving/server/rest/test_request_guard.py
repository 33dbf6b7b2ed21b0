"""Tests Host and Origin headers, content types, CORS, and requests of ambiguous length."""

import socket

import pytest
import requests

from tests.serving.server.small_models import serving
from tfreps.serving import ServerOptions
from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.rest.request_guard import RequestGuard

BODY = '{"inputs": [2.0]}'
JSON = {"content-type": "application/json"}
PREDICT = "/v1/models/half_plus_two:predict"


def guard(host="127.0.0.1", **options):
    return RequestGuard(None, ServerOptions(host=host, **options))


def status(guard, method="GET", **headers):
    """Returns the HTTP status of a rejected request, or 200."""
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        guard.check(method, {"host": "localhost:8501", **headers})
    except ServingError as error:
        return error.http_status
    return 200


@pytest.mark.parametrize(
    "host, bound, names, expected",
    [
        ("localhost", "127.0.0.1", [], 200),
        ("LOCALHOST.:8501", "127.0.0.1", [], 200),
        ("127.0.0.1:8501", "localhost", [], 200),
        ("[::1]:8501", "127.0.0.1", [], 200),
        ("10.0.0.7:8501", "127.0.0.1", [], 200),  # a health probe by IP, without the name of a site
        ("", "127.0.0.1", [], 200),  # HTTP/1.0
        ("evil.example", "127.0.0.1", [], 403),
        ("evil.example:8501", "::1", [], 403),
        ("localhost.evil.example", "127.0.0.1", [], 403),
        ("127.0.0.1.evil.example", "127.0.0.1", [], 403),
        ("localhost@evil.example", "127.0.0.1", [], 403),
        ("models.test:8501", "127.0.0.1", ["models.test"], 200),
        ("evil.example", "127.0.0.1", ["models.test"], 403),
        ("tagger.default.svc", "0.0.0.0", [], 200),
        ("tagger.default.svc", "0.0.0.0", ["Tagger.Default.svc"], 200),
        ("evil.example", "0.0.0.0", ["tagger.default.svc"], 403),
        ("10.0.0.7:8501", "0.0.0.0", ["tagger.default.svc"], 200),
    ],
)
def test_hosts(host, bound, names, expected):
    assert status(guard(bound, allowed_hosts=names), host=host) == expected


@pytest.mark.parametrize(
    "headers, expected",
    [
        ({"origin": "http://localhost:8501"}, 200),
        ({"origin": "http://LocalHost:8501"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:3000"}, 403),
        ({"origin": "http://localhost"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "null", "host": ""}, 403),
        ({"origin": "http://localhost:x"}, 403),
        ({"origin": "http://127.0.0.1", "host": "127.0.0.1"}, 200),
        ({"origin": "https://127.0.0.1", "host": "127.0.0.1:443"}, 200),
        ({"origin": "https://good.example"}, 200),
        ({"origin": "http://good.example"}, 403),
        ({"sec_fetch_site": "same-origin"}, 200),
        ({"sec_fetch_site": "none", "sec_fetch_mode": "navigate"}, 200),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "no-cors"}, 403),
        ({"sec_fetch_site": "same-site", "sec_fetch_mode": "cors"}, 403),
        ({"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate"}, 200),  # a link
    ],
)
def test_sites(headers, expected):
    one = guard(allowed_origins=["https://Good.example/"])
    assert status(one, **headers) == expected
    assert status(guard(allowed_origins=["*"]), **headers) == 200


@pytest.mark.parametrize(
    "kind, expected",
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("", 200),
        ("text/plain;charset=UTF-8", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
    ],
)
def test_types_of_bodies(kind, expected):
    """Browsers must send JSON; the type that `curl -d` sends is accepted from other programs."""
    own = guard()
    page = {"origin": "http://localhost:8501"}
    assert status(own, "POST", content_type=kind, **page) == expected
    assert status(own, "POST", content_type=kind, sec_fetch_site="same-origin") == expected
    assert status(own, "POST", content_type=kind) == 200
    assert status(own, "POST", sec_fetch_site="cross-site", sec_fetch_mode="navigate") == 403


@pytest.mark.parametrize("origin", ["example.org", "https://", "https://a b", "https://x/path"])
def test_an_origin_that_is_none(origin):
    with pytest.raises(ValueError, match="`allowed_origins` must have the form https://exa"):
        guard(allowed_origins=[origin])


@pytest.fixture(scope="module")
def guarded(models):
    """Starts a server that allows two host names and one web site."""
    options = {"allowed_hosts": ("models.test",), "allowed_origins": ("https://good.example",)}
    with serving(models / "half_plus_two", grpc_port=None, **options) as server:
        yield f"http://127.0.0.1:{server.rest_port}"


def test_refusals_say_what_to_do(guarded):
    found = requests.get(f"{guarded}/healthz", headers={"Host": "evil.example"}, timeout=20)
    assert found.status_code == 403 and found.headers["connection"] == "close"
    assert "'evil.example'" in found.json()["error"]
    foreign = {"Origin": "http://evil.example", **JSON}
    found = requests.post(guarded + PREDICT, data=BODY, headers=foreign, timeout=20)
    assert found.status_code == 403 and "`allowed_origins`" in found.json()["error"]
    assert "access-control-allow-origin" not in found.headers
    form = {"Origin": guarded, "content-type": "text/plain"}
    found = requests.post(guarded + PREDICT, data=BODY, headers=form, timeout=20)
    assert found.status_code == 415 and "application/json" in found.json()["error"]


def test_programs_and_pages_of_the_server_ask(guarded):
    url = guarded + PREDICT
    for headers in (
        {},
        {"content-type": "application/x-www-form-urlencoded"},  # curl -d
        {"Host": "models.test"},
        {"Origin": guarded, **JSON},
    ):
        found = requests.post(url, data=BODY, headers=headers, timeout=20)
        assert (found.status_code, found.json()) == (200, {"outputs": [3.0]})
        assert "access-control-allow-origin" not in found.headers


def test_an_allowed_site_has_cors(guarded):
    """The CORS headers are those of TensorFlow Serving."""
    asks = {"Origin": "https://good.example"}
    found = requests.post(guarded + PREDICT, data=BODY, headers={**asks, **JSON}, timeout=20)
    assert found.json() == {"outputs": [3.0]}
    assert found.headers["access-control-allow-origin"] == "https://good.example"
    assert found.headers["vary"] == "Origin"
    found = requests.post(guarded + PREDICT, data="{", headers={**asks, **JSON}, timeout=20)
    assert found.status_code == 400
    assert found.headers["access-control-allow-origin"] == "https://good.example"
    before = {
        **asks,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Private-Network": "true",
    }
    found = requests.options(guarded + PREDICT, headers=before, timeout=20)
    assert found.status_code == 200
    assert found.headers["access-control-allow-origin"] == "https://good.example"
    assert found.headers["access-control-allow-methods"] == "POST, GET"
    assert "Content-Type" in found.headers["access-control-allow-headers"].split(", ")
    assert found.headers["access-control-allow-private-network"] == "true"
    before["Origin"] = "https://evil.example"
    found = requests.options(guarded + PREDICT, headers=before, timeout=20)
    assert found.status_code == 403 and "access-control-allow-origin" not in found.headers


def test_two_lengths_of_one_request(guarded):
    """The server does not read the rest of the bytes as a second request, as a proxy could."""
    smuggled = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    request = (
        f"POST {PREDICT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {5 + len(smuggled)}\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    )
    host, port = guarded.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as client:
        client.sendall(request.encode() + smuggled)
        response = b""
        while part := client.recv(10_000):  # until the server closes the connection
            response += part
    assert response.startswith(b"HTTP/1.1 400") and response.count(b"HTTP/1.1") == 1
    assert b"both Content-Length and Transfer-Encoding" in response
