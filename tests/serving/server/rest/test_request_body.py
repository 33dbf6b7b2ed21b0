"""Tests JSON bodies and their limits. `test_rest_app` sends compressed and too large bodies."""

import pytest

from tfreps.serving import ServerOptions
from tfreps.serving.server.requests.serving_error import ServingError
from tfreps.serving.server.rest.request_body import parse_body


@pytest.mark.parametrize(
    "part", ["[" * 300 + "]" * 300 + ",", "[],", '{"a":[]},', "[1],", "1,"], ids=lambda p: p[:6]
)
def test_bodies_of_many_values(part):
    """A value counts as 1; a list or object, which takes more memory and time, as 16."""
    count = 30 * (part.count(",") + 16 * part.count("[") + 16 * part.count("{")) + 32
    body = '{"inputs":[' + part * 30 + "1]}"
    assert len(parse_body(body.encode(), count + 1)["inputs"]) == 31
    with pytest.raises(ServingError, match=f"at most {count} values"):
        parse_body(body.encode(), count)
    options = ServerOptions()
    largest = part * (options.max_body_mb * 2**20 // len(part))
    with pytest.raises(ServingError, match="at most 1048576 values"):
        parse_body(largest.encode(), options.max_elements)


def test_bytes_that_are_no_utf_8():
    with pytest.raises(ServingError, match="not valid JSON: .utf-8. codec .* position 2"):
        parse_body(b'{"\xff": 1}', 100)
    assert parse_body(b"\xef\xbb\xbf{}", 100) == {}
