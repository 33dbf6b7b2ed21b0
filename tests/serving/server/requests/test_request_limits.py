"""Tests which requests are rejected, and in which queue the others wait."""

import types

import numpy as np
import pytest

from tfreps.serving import BatchOptions, ServerOptions
from tfreps.serving.server.requests.request_limits import (
    RequestSize,
    check_response,
    choose_queue,
)
from tfreps.serving.server.requests.serving_error import ServingError

LIMITS = ServerOptions(
    max_tokens=1_000,
    max_text_tokens=500,
    max_text_mb=1,
    max_response_mb=1,
    batching=BatchOptions(max_batch_size=10),
)


def texts(count, size):
    return {"text": np.array([b"a" * size] * count, object)}


def queue_of(size, inputs, added=0):
    """Returns the queue of a request for which the counter returns `size`."""
    counter = types.SimpleNamespace(size=lambda *_: size, added_per_text=added)
    return choose_queue(inputs, counter, LIMITS)


def test_as_many_as_are_allowed():
    for size in (RequestSize(0, 9_999), RequestSize(1, 500), RequestSize(1_000, 1)):
        queue_of(size, texts(1, 3))
    check_response(2**20, LIMITS)
    each = {"a": texts(1, 2**20)["text"], "b": texts(100, 1)["text"]}
    assert queue_of(RequestSize(1, 1), each) == "long"  # each input by itself


def test_too_many_bytes():
    with pytest.raises(ServingError, match="have 1200000, .* to 600000 bytes .*max_text_mb"):
        queue_of(RequestSize(2, 1), {"text": np.array([b"a" * 600_000, b""], object)})
    with pytest.raises(ServingError, match="to 64 bytes"):
        queue_of(RequestSize(2, 1), texts(20_000, 1))
    with pytest.raises(
        ServingError, match="at most 1048576 bytes; .* 1048577 bytes .*max_response_mb"
    ):
        check_response(2**20 + 1, LIMITS)


@pytest.mark.parametrize(
    "size, inputs, queue",
    [
        (RequestSize(1, 100), texts(1, 600), "batched"),
        (RequestSize(2, 100), texts(2, 600), "long"),
        (RequestSize(1, 101), texts(1, 600), "single"),  # ten such rows would be too many
        (RequestSize(11, 1), texts(11, 3), "single"),
        (RequestSize(1, 126), texts(1, 600), "long"),
        (RequestSize(1, 1), texts(1, 20_000), "long"),
        (RequestSize(0, 1), texts(0, 1), "single"),
        (RequestSize(0, 1), {"x": np.zeros([3])}, "batched"),
        (RequestSize(0, 1), {"x": np.zeros([])}, "single"),
    ],
)
def test_queues(size, inputs, queue):
    assert queue_of(size, inputs) == queue


def test_tokens_that_the_model_adds_do_not_count_as_of_a_text():
    queue_of(RequestSize(1, 502), texts(1, 3), added=2)
    with pytest.raises(ServingError, match="max_text_tokens"):
        queue_of(RequestSize(1, 503), texts(1, 3), added=2)
