"""Hostile requests to the REST port: paths, headers, bodies, and bytes that are not HTTP."""

import contextlib
import gzip
import json
import re
import socket

from tests.hostile.format import Format
from tests.hostile.mutations import SNIPPETS, mutated, mutated_json
from tests.hostile.served import STATUS, Served

MODELS = b"/v1/models/"
WHICH = b"half_plus_two", b"zoo", b"half_plus_two/versions/123", b"half_plus_two/labels/stable"
PATHS = (
    *(MODELS + name + end for name in WHICH for end in (b":predict", b"", b"/metadata")),
    *(b"/v1/models", b"/healthz", b"/monitoring/prometheus/metrics", b"/v1/models/zoo:classify"),
    *(b"/", b"/v1/models/%7aoo:predict", b"/v1/models/zoo/versions/999999999999999999999"),
)
METHODS = ("GET",) * 3 + ("POST",) * 3 + ("PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW", "")
BODIES = (
    {"instances": [1.0, 2, 5e3]},
    {"inputs": {"x": [1.0, 2.0]}},
    {"signature_name": "serving_default", "instances": ["a", "é", {"b64": "YQ=="}]},
    {"signature_name": "two", "inputs": {"a": [[1, 2]], "b": [[0.5, 1]]}},
    {"signature_name": "two", "instances": [{"a": [1], "b": [2]}, {"a": [3], "b": [4]}]},
    {"signature_name": "scalar", "inputs": 7},
    {
        "signature_name": "kinds",
        "inputs": {"flag": [True], "small": [1], "large": [1], "wide": [1]},
    },
    {"signature_name": "half", "inputs": [1.5]},
    {"signature_name": "echo", "inputs": ["a", {"b64": "/w=="}]},
    {"signature_name": "picky", "instances": ["good", "bad"]},
)
HEADERS = (
    *((b"content-type", b"application/json"), (b"content-encoding", b"gzip")),
    *((b"content-length", b"5"), (b"transfer-encoding", b"chunked"), (b"expect", b"100-continue")),
    *((b"origin", b"http://localhost:8501"), (b"sec-fetch-site", b"same-origin")),
    *((b"host", b"[::1]:8501"), (b"accept", b"*/*"), (b"content-encoding", b"br")),
)


def check(answer, path):
    """Checks the properties of every answer."""
    status, headers, body = answer
    assert status in STATUS, (status, body[:500])
    if headers.get(b"content-type") == b"application/json":
        found = json.loads(body)
        assert isinstance(found, dict) and (status == 200 or "error" in found), body[:500]
        assert "Traceback" not in str(found) and "/tmp/" not in str(found), body[:500]
    else:  # metrics, and the response to OPTIONS
        is_model = path.startswith(MODELS) and b"allow" not in headers
        assert status != 200 or not is_model, (headers, body[:500])
    assert headers.get(b"content-length", b"") == str(len(body)).encode()
    return status == 200


def bodies(served, random, folder):
    body = random.choice(BODIES)
    is_half = body in BODIES[:2] if random.random() < 0.9 else random.random() < 0.5
    path = b"/v1/models/" + (b"half_plus_two" if is_half else b"zoo") + b":predict"
    body = mutated_json(body, random)
    found = check(served.rest("POST", path, body, parts=random.choice([1, 1, 3])), path)
    if random.random() < 0.01:
        served.still_serves()
    return found


def heads(served, random, folder):
    """Sends hostile methods, paths, headers and compressed bodies."""
    path = random.choice(PATHS)
    path = mutated(path, random)[:3_000] if random.random() < 0.7 else path
    path = b"/" + path.lstrip(b"/").replace(b" ", b"").replace(b"\n", b"")
    chosen = random.sample(HEADERS, random.choice([0, 0, 1, 2, 3]))
    headers = [(n, mutated(v, random) if random.random() < 0.4 else v) for n, v in chosen]
    body = json.dumps(random.choice(BODIES)).encode()
    if (b"content-encoding", b"gzip") in headers:
        body = random.choice([body, b" " * 2**21, b"[" * 2**19])  # the second one is too large
        body = gzip.compress(body, 1, mtime=0)
        body = mutated(body, random) if random.random() < 0.6 else body
    found = served.rest(random.choice(METHODS), path, body, headers)
    return check(found, path)


def raw(served, random, folder):
    """Sends bytes over a connection."""
    body = json.dumps(BODIES[0]).encode()
    chunked = random.random() < 0.2
    data = b"POST /v1/models/half_plus_two:predict HTTP/1.1\r\nHost: localhost\r\n"
    data += b"Connection: close\r\n"
    if chunked:
        data += b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    else:
        data += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    if random.random() < 0.3:
        data += b"GET /v1/models/zoo HTTP/1.1\r\nHost: localhost\r\n\r\n"
    data = random.choice([mutated(data, random), random.choice(SNIPPETS) + data])
    answer, address = b"", ("127.0.0.1", served.server.rest_port)
    # Reset: rejected before everything was sent. Timeout: the server waits for more.
    with (
        contextlib.suppress(ConnectionResetError, BrokenPipeError, socket.timeout),
        socket.create_connection(address, timeout=10) as client,
    ):
        client.sendall(data)
        client.settimeout(random.choice([0.1] * 9 + [1.0]))
        while part := client.recv(65_536):
            answer += part
    for status in re.findall(rb"HTTP/1\.[01] (\d+) ", answer):
        assert int(status) in STATUS, answer[:1_000]
    assert answer.startswith(b"HTTP/1.1 ") or not answer, answer[:1_000]
    if random.random() < 0.02:
        served.still_serves()
    return answer.startswith(b"HTTP/1.1 200")


FORMATS = [
    Format("REST bodies", 12_000, Served, bodies, quick=True),
    Format("REST paths and headers", 8_000, Served, heads),
    Format("HTTP bytes", 2_000, Served, raw, seconds=20),
]
