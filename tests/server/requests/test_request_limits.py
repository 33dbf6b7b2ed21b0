"""Requests that are rejected, merged, or long."""

import numpy as np
import pytest

from tfreps.server.requests.request_limits import RequestLimits
from tfreps.server.requests.request_size import RequestSize
from tfreps.server.requests.serving_error import ServingError

LIMITS = RequestLimits(tokens=1_000, text_tokens=500, text_bytes=10_000, answer_bytes=100)


@pytest.mark.parametrize(
    "size, words",
    [
        (RequestSize(1, 501), "more than the 500 tokens .*server option `max_text_tokens`"),
        (RequestSize(3, 400), "3 texts.* 400 tokens.* as 1200 .*more than the 1000 .*max_tok"),
        (RequestSize(1_001, 1), "Padded, these count as 1001"),
    ],
)
def test_too_many_tokens(size, words):
    with pytest.raises(ServingError, match=words) as caught:
        LIMITS.check_tokens(size)
    assert (caught.value.code, caught.value.http_status) == ("RESOURCE_EXHAUSTED", 413)


def test_as_many_as_are_allowed():
    for size in (RequestSize(0, 9_999), RequestSize(1, 500), RequestSize(1_000, 1)):
        LIMITS.check_tokens(size)
    LIMITS.check_answer(100)
    assert LIMITS.check_bytes({"text": np.array([b"abc", b"ab"], object)}) == 3
    long, many = np.array([b"a" * 6_000], object), np.array([b"a"] * 100, object)
    assert LIMITS.check_bytes({"a": long, "b": many}) == 6_000  # each input by itself


def test_too_many_bytes():
    with pytest.raises(ServingError, match="to 6000 bytes each, they have 12000 .*max_text_mb"):
        LIMITS.check_bytes({"text": np.array([b"a" * 6_000, b""], object)})
    with pytest.raises(ServingError, match="has 101 bytes, more than the 100 .*max_answer_mb"):
        LIMITS.check_answer(101)


@pytest.mark.parametrize(
    "size, longest_bytes, merges, is_long",
    [
        (RequestSize(1, 100), 600, True, False),
        (RequestSize(2, 100), 600, False, True),
        (RequestSize(1, 101), 600, False, False),  # ten rows of this length would be too many
        (RequestSize(11, 1), 600, False, False),
        (RequestSize(1, 126), 600, False, True),
        (RequestSize(1, 1), 20_000, False, True),
        (RequestSize(0, 1), 0, True, False),
    ],
)
def test_lanes(size, longest_bytes, merges, is_long):
    assert LIMITS.merges(size, longest_bytes, most_rows=10) == merges
    assert LIMITS.is_long(size, longest_bytes) == is_long


def test_tokens_that_nobody_sent_do_not_count_as_of_a_text():
    LIMITS.check_tokens(RequestSize(1, 502), added=2)
    with pytest.raises(ServingError, match="max_text_tokens"):
        LIMITS.check_tokens(RequestSize(1, 503), added=2)
