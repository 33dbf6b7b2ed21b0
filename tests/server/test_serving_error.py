"""Errors of all origins as codes."""

import grpc
import pytest
import tensorflow as tf

from tfreps.server.serving_error import CODES, ServingError, as_serving_error


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
