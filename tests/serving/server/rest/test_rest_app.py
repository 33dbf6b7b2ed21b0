"""Tests requests and responses of TensorFlow Serving's documentation over REST."""

import gzip
import json

import numpy as np
import pytest

from tfreps.serving.server.rest import rest_front

HALF = "/v1/models/half_plus_two"
STATUS = {
    "model_version_status": [
        {
            "version": "123",
            "state": "AVAILABLE",
            "status": {"error_code": "OK", "error_message": ""},
        }
    ]
}


@pytest.mark.parametrize(
    "which",
    ["", "/versions/123", "/labels/stable", "/labels/none", "/versions/" + "0" * 50 + "123"],
)
def test_status(rest, which):
    found = rest("GET", HALF + which)
    assert (found.status_code, found.json()) == (200, STATUS)
    assert found.headers["content-type"] == "application/json"


@pytest.mark.parametrize("which", ["", "/versions/123", "/labels/stable"])
def test_metadata(rest, which):
    found = rest("GET", f"{HALF}{which}/metadata")
    assert found.status_code == 200
    assert found.json()["model_spec"] == {
        "name": "half_plus_two",
        "signature_name": "",
        "version": "123",
    }
    signature = found.json()["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["method_name"] == "tensorflow/serving/predict"
    x = signature["inputs"]["x"]
    assert x["dtype"] == "DT_FLOAT" and x["name"].startswith("serving_default_x")
    assert x["tensor_shape"] == {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False}


@pytest.mark.parametrize("path", ["/healthz/", "/monitoring/prometheus/metrics/", "/v1", "/x/"])
def test_a_path_with_another_end_is_no_other_path(rest, path):
    found = rest("GET", path, allow_redirects=False)
    assert (found.status_code, found.json()) == (404, {"error": "Not Found"})


def ask(rest, name, body, **options):
    body = body if isinstance(body, (str, bytes)) else json.dumps(body)
    found = rest("POST", f"/v1/models/{name}:predict", body, **options)
    return found.status_code, found.json()


@pytest.mark.parametrize(
    "body, response",
    [
        ({"instances": [1.0, 2.0, 5.0]}, {"predictions": [2.5, 3.0, 4.5]}),
        ({"inputs": [1.0, 2.0, 5.0]}, {"outputs": [2.5, 3.0, 4.5]}),
        ({"instances": [{"x": 1.0}, {"x": 2}]}, {"predictions": [2.5, 3.0]}),
        ({"inputs": {"x": [4]}}, {"outputs": [4.0]}),
        ({"signature_name": "serving_default", "instances": [0]}, {"predictions": [2.0]}),
        ({"signature_name": "", "instances": [0]}, {"predictions": [2.0]}),
        ({"instances": [1435774380]}, {"predictions": [717887170.0]}),
        ('{"instances": [Infinity, -Infinity, 1e2]}', None),
    ],
)
@pytest.mark.parametrize("which", ["", "/versions/123", "/labels/stable"])
def test_predict(rest, body, response, which):
    response = response or {"predictions": [float("inf"), float("-inf"), 52.0]}
    assert ask(rest, "half_plus_two" + which, body) == (200, response)


def test_numbers_come_back_exactly(rest):
    """The inputs are random bits: float32 numbers of all sizes, with infinities and NaN."""
    bits = np.random.default_rng(0).integers(0, 2**32, 2_000, np.uint32)
    numbers = np.array([*bits.view("float32"), np.inf, np.nan, -0.0], "float32")
    status, response = ask(rest, "half_plus_two", {"instances": numbers.tolist()})
    with np.errstate(invalid="ignore"):  # signaling NaN would warn
        expected = numbers / np.float32(2) + np.float32(2)
    assert status == 200
    np.testing.assert_array_equal(np.array(response["predictions"], "float32"), expected)


@pytest.mark.parametrize(
    "body, response",
    [
        (
            {"instances": ["ab", "é"]},
            {"predictions": [{"length": 2, "upper": "AB"}, {"length": 2, "upper": "é"}]},
        ),
        ({"inputs": ["ab"]}, {"outputs": {"length": [2], "upper": ["AB"]}}),
        (
            {"instances": [{"b64": "YWI="}]},
            {"predictions": [{"length": 2, "upper": "AB"}]},
        ),
        (
            {"signature_name": "echo", "inputs": {"x": [{"b64": "YWI="}]}},
            {"outputs": {"x": ["ab"], "x_bytes": [{"b64": "YWI="}]}},
        ),
        (
            {
                "signature_name": "two",
                "instances": [{"a": [1, 2], "b": [0.5, 1]}, {"a": [3, 4], "b": [2, 3]}],
            },
            {
                "predictions": [
                    {"product_bytes": [{"b64": "MQ=="}, {"b64": "Mg=="}], "sum": [1.5, 3.0]},
                    {"product_bytes": [{"b64": "Mw=="}, {"b64": "NA=="}], "sum": [5.0, 7.0]},
                ]
            },
        ),
        ({"signature_name": "scalar", "inputs": 4}, {"outputs": 5}),
        (
            {
                "signature_name": "kinds",
                "inputs": {
                    "flag": [True],
                    "small": [-8],
                    "large": [2**64 - 1],
                    "wide": [0.1],
                },
            },
            {
                "outputs": {
                    "flag": [False],
                    "small": [-8],
                    "large": [2**64 - 1],
                    "wide": [0.1],
                }
            },
        ),
    ],
)
def test_types_and_forms(rest, body, response):
    assert ask(rest, "zoo", body) == (200, response)


ERRORS = [
    ("half", {"instances": [1]}, 404, "Servable not found for request: Latest(half)"),
    ("zoo/versions/9", {"inputs": [""]}, 404, "Servable not found for request: Specific(zoo, 9)"),
    ("none/versions/9", {"inputs": [1]}, 404, "Servable not found for request: Specific(none, 9)"),
    ("zoo/labels/x", {"inputs": [""]}, 400, "Unrecognized servable version label: x"),
    ("none/labels/x", {"inputs": [""]}, 400, "Unrecognized servable version label: x"),
    ("zoo/versions/99999999999999999999", {"inputs": [""]}, 400, "must be at most"),
    ("zoo/versions/9223372036854775808", {"inputs": [""]}, 400, "must be at most"),
    ("zoo/versions/" + "0" * 60, {"inputs": [""]}, 404, "Specific(zoo, 0)"),
    ("zoo", "", 400, "not valid JSON"),
    ("zoo", "{", 400, "not valid JSON"),
    ("zoo", b'{"inputs": ["\xff"]}', 400, "not valid JSON"),
    ("zoo", {"signature_name": "no", "inputs": []}, 400, 'signature key "no" not found'),
    ("zoo", {"signature_name": 3, "inputs": []}, 400, "'signature_name' must be a string"),
    ("zoo", {"instances": [1]}, 400, "must be of type string; got a number"),
    ("zoo", {"instances": ["a", ["b"]]}, 400, "must be a dense tensor"),
    ("zoo", {"inputs": "a"}, 400, "shape (None,); got ()."),
    ("zoo", {"signature_name": "scalar", "instances": [1]}, 400, "shape ()"),
    ("zoo", {"signature_name": "picky", "instances": ["bad"]}, 400, "assertion failed"),
    (
        "zoo",
        {"signature_name": "two", "inputs": {"a": [[1, 2]], "b": [[1, 2, 3]]}},
        400,
        "ncompatible shapes",
    ),
    ("zoo", {"signature_name": "half", "inputs": [1]}, 501, "float16"),
    ("zoo", {"signature_name": "echo", "instances": [{"b64": "/w=="}]}, 400, "not valid UTF-8"),
    ("zoo", {"instances": ["a", "b"], "more": "x" * 2**20}, 413, "at most 1048576 bytes"),
]


@pytest.mark.parametrize("name, body, status, words", ERRORS)
def test_errors(rest, name, body, status, words):
    found, response = ask(rest, name, body)
    assert found == status and list(response) == ["error"] and words in response["error"]


@pytest.mark.parametrize(
    "method, path, status, words",
    [
        ("GET", "/v1/models", 400, "Missing model name"),
        ("GET", "/v1/models/none", 404, "Could not find any versions of model none"),
        ("GET", "/v1/models/zoo/versions/9", 404, "Could not find version 9 of model zoo"),
        ("GET", "/v1/models/none/versions/9", 404, "Could not find version 9 of model none"),
        ("POST", "/v1/models/zoo:PREDICT", 400, "Malformed request: POST /v1/models/zoo:PREDICT"),
        ("POST", "/v1/models/zoo:Regress", 400, "Malformed request"),
        ("GET", "/V1/nothing", 400, "Malformed request: GET /V1/nothing"),
        ("GET", "/v1/models/none/metadata", 404, "Servable not found"),
        ("GET", "/v1/models/zoo:predict", 400, "Malformed request: GET /v1/models/zoo:predict"),
        ("POST", "/v1/models/zoo", 400, "Malformed request: POST /v1/models/zoo"),
        ("PUT", "/v1/models/zoo:predict", 400, "Malformed request: PUT"),
        ("DELETE", "/v1/models/zoo", 400, "Malformed request: DELETE"),
        ("POST", "/v1/models/zoo:train", 400, "Malformed request"),
        ("POST", "/v1/models/zoo/versions/x:predict", 400, "Malformed request"),
        ("POST", "/v1/models/zoo:classify", 501, "not support classify"),
        ("POST", "/v1/models/zoo:regress", 501, "not support regress"),
        ("GET", "/v2/models/zoo", 404, "Not Found"),
        ("GET", "/etc/passwd", 404, "Not Found"),
        ("GET", "/v1/models/..%2f..%2fetc%2fpasswd", 404, "Could not find"),
        ("POST", "/monitoring/prometheus/metrics", 405, "Method Not Allowed"),
    ],
)
def test_addresses_that_are_none(rest, method, path, status, words):
    found = rest(method, path, "{}" if method != "GET" else None)
    assert found.status_code == status and words in found.json()["error"]


def test_addresses_may_be_written_otherwise(rest):
    assert rest("GET", "/v1/MODELS/half_plus_two").json() == STATUS
    assert rest("GET", "/V1/models/half_plus_two").json() == STATUS
    assert rest("GET", "/v1/models/half_plus_two/METADATA").json() == STATUS
    assert rest("POST", "/V1/models/half_plus_two:predict", '{"inputs": [2]}').status_code == 200
    assert rest("GET", "/v1/models/half%5Fplus_two?x=1").json() == STATUS


def test_packed_bodies(rest):
    packed = {"headers": {"Content-Encoding": "gzip"}}
    body = gzip.compress(b'{"inputs": [2.0]}')
    assert ask(rest, "half_plus_two", body, **packed) == (200, {"outputs": [3.0]})
    bomb = gzip.compress(b'{"inputs": [' + b" " * 2**24)
    assert len(bomb) < 2**20 and ask(rest, "half_plus_two", bomb, **packed)[0] == 413
    assert ask(rest, "half_plus_two", b"no gzip", **packed)[0] == 400
    assert (
        "complete gzip data; its end is missing"
        in ask(rest, "half_plus_two", body[:-9], **packed)[1]["error"]
    )
    parts = gzip.compress(b'{"inputs": ') + gzip.compress(b"[2.0]}")
    assert ask(rest, "half_plus_two", parts, **packed) == (200, {"outputs": [3.0]})
    empty = gzip.compress(b"") + bytes(9)
    assert ask(rest, "half_plus_two", 14 * empty + parts, **packed) == (200, {"outputs": [3.0]})
    error = (
        "The body of the request must have at most 16 gzip members; it has more. Compress the "
        "body as one member."
    )
    assert ask(rest, "half_plus_two", 15 * empty + parts, **packed) == (400, {"error": error})


def test_bodies_in_chunks(rest):
    parts = [b'{"inputs"', b": [2.0]}"]
    found = rest("POST", f"{HALF}:predict", (part for part in parts))
    assert found.json() == {"outputs": [3.0]}
    assert rest("POST", f"{HALF}:predict", (b" " * 2**19 for _ in range(3))).status_code == 413


def test_more_chunks_than_allowed(rest, monkeypatch):
    monkeypatch.setattr(rest_front, "MOST_CHUNKS", 20)
    body = b'{"inputs": [2.0]}   '
    for _ in range(2):  # on one connection, which counts the chunks of each request
        found = rest("POST", f"{HALF}:predict", (body[i : i + 1] for i in range(20)))
        assert found.json() == {"outputs": [3.0]}
    found = rest("POST", f"{HALF}:predict", (b" " for _ in range(21)))
    assert found.status_code == 400
    assert found.text == "The request has more than 20 chunks. Send larger chunks."
    found = rest("POST", f"{HALF}:predict", (part for part in [body]))
    assert found.status_code == 200


def test_options(rest):
    found = rest("OPTIONS", f"{HALF}:predict")
    assert (found.status_code, found.content) == (200, b"")
    assert found.headers["allow"] == "GET, POST, OPTIONS"


def test_metrics_and_health(rest):
    page = rest("GET", "/monitoring/prometheus/metrics").text
    assert ':tensorflow:serving:request_count{model_name="half_plus_two",status="OK"}' in page
    found = rest("GET", "/healthz")
    assert (found.status_code, found.json()) == (200, {"ready": True})
