"""Tests the conversion of exceptions to status codes."""

import grpc
import pytest
import tensorflow as tf

from tfreps.serving.server.requests.serving_error import (
    CODES,
    ServingError,
    as_serving_error,
    for_clients,
)


def test_numbers_and_names_are_those_of_grpc():
    assert {number: name for number, (name, _) in CODES.items()} == {
        code.value[0]: code.name for code in grpc.StatusCode if code.name != "OK"
    }


@pytest.mark.parametrize(
    "error, code, http_status",
    [
        (tf.errors.InvalidArgumentError(None, None, "assertion failed"), "INVALID_ARGUMENT", 400),
        (tf.errors.UnavailableError(None, None, "full"), "UNAVAILABLE", 503),
        (tf.errors.ResourceExhaustedError(None, None, "OOM"), "RESOURCE_EXHAUSTED", 429),
        (MemoryError(), "RESOURCE_EXHAUSTED", 429),
        (RuntimeError("?"), "INTERNAL", 500),
        (ServingError("NOT_FOUND", "no"), "NOT_FOUND", 404),
    ],
)
def test_origins(error, code, http_status):
    found = as_serving_error(error)
    assert (found.code, found.http_status) == (code, http_status)


def test_messages_are_about_the_input():
    text = "Graph execution error:\n\nDetected at node X\n  File\nshapes differ\n\t [[{{node X}}]]"
    assert as_serving_error(tf.errors.InvalidArgumentError(None, None, text)).message == (
        "shapes differ"
    )
    assert len(ServingError("INTERNAL", "x" * 10_000).message) == 1_000


@pytest.mark.parametrize(
    "text, told",
    [
        (
            "/srv/a/ner/2 cannot be loaded: no /srv/a/ner/2/assets/v.txt",
            "ner/2 cannot be loaded: no ner/2/assets/v.txt",
        ),
        ("NOT_FOUND: /etc/passwd; No such file", "NOT_FOUND: passwd; No such file"),
        ("No such file: '/home/ada/x y'", "No such file: 'x y'"),
        ("in C:\\Users\\ada\\model.pb, line 1", "in model.pb, line 1"),
        ("(/tmp/x)", "(x)"),
        ("<b>x</b> and/or </li>", None),
        ("see https://example.org/a/b or model/dense/kernel, 1/2", None),
    ],
)
def test_clients_are_not_told_where_files_lie(text, told):
    error = for_clients("INTERNAL", text, "/srv/a/ner")
    assert (error.message, str(error)) == (told or text, text)
    assert as_serving_error(RuntimeError("/etc/x y")).message == "RuntimeError: x y"
