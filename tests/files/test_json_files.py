"""JSON objects in files: plain values, one error a file."""

import pathlib

import numpy as np
import pytest

from tfreps.files.json_files import as_json, read_json, write_json


def test_a_round_trip(tmp_path):
    values = {"path": pathlib.Path("a"), "count": np.int64(3), "shares": np.array([0.5, 1.0])}
    write_json(tmp_path / "a.json", as_json(values))
    assert read_json(tmp_path / "a.json") == {"path": "a", "count": 3, "shares": [0.5, 1.0]}


@pytest.mark.parametrize(
    "text, message",
    [
        ("[1]", r"a.json: expected a JSON object \{\.\.\.\}, got list"),
        ('{"a": 1', "a.json is not a JSON file in UTF-8: Expecting ',' delimiter"),
        ("[" * 100_000, "a.json is not a JSON file in UTF-8: maximum recursion"),
        (b"\xff", "a.json is not a JSON file in UTF-8: 'utf-8' codec"),
        (None, "Cannot read .*a.json: No such file"),
    ],
)
def test_what_is_no_object(tmp_path, text, message):
    if text is not None:
        (tmp_path / "a.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        read_json(tmp_path / "a.json")


def test_what_json_cannot_hold():
    with pytest.raises(ValueError, match="must be of JSON types: set .* has no place"):
        as_json({"a": {1}})
