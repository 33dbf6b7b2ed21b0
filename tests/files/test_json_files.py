"""Tests the reading and writing of JSON objects, and errors about invalid files."""

import pathlib

import numpy as np
import pytest

from tfreps._src.files.json_files import as_json, read_json, write_json


def test_a_round_trip(tmp_path):
    values = {"path": pathlib.Path("a"), "count": np.int64(3), "shares": np.array([0.5, 1.0])}
    write_json(tmp_path / "a.json", as_json(values))
    assert read_json(tmp_path / "a.json") == {"path": "a", "count": 3, "shares": [0.5, 1.0]}


@pytest.mark.parametrize(
    "text, message",
    [
        ("[1]", r"a.json: expected a JSON object, .*; got \[1\]"),
        ('{"a": 1', "a.json is not a JSON file: Expecting ',' delimiter .line 1, column 8."),
        ('{\n"a": x}', "a.json is not a JSON file: Expecting value .line 2, column 6."),
        ("[" * 100_000, "a.json cannot be read as JSON: it is nested too deeply"),
        (
            '{"a": 1, "b": {"c": 1, "c": 2}}',
            "a.json cannot be read as JSON: the key 'c' occurs more",
        ),
        ('{"a": 1' + "0" * 5000 + "}", "a.json cannot be read as JSON: Exceeds"),
        (b"\xff", "a.json, line 1: expected UTF-8 text, found the byte 0xff"),
        ('{"a": 1}'.encode("utf-16"), "a.json, line 1: expected UTF-8 text, .* UTF-16"),
        ("version https://git-lfs.github.com/spec/v1", "a.json is a git-lfs pointer"),
        (None, "Cannot read .*a.json: No such file"),
    ],
)
def test_what_is_no_object(tmp_path, text, message):
    if text is not None:
        (tmp_path / "a.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ValueError, match=message):
        read_json(tmp_path / "a.json")


def test_forms(tmp_path):
    (tmp_path / "a.json").write_text('\ufeff{"a": 1}', encoding="utf-8")
    assert read_json(str(tmp_path / "a.json")) == {"a": 1}
    write_json(tmp_path / "a.json", {"a": "é"})
    assert (tmp_path / "a.json").read_bytes() == b'{\n  "a": "\\u00e9"\n}\n'
    write_json(tmp_path / "a.json", {"a": "é"}, indent=0, ensure_ascii=False)
    assert (tmp_path / "a.json").read_bytes() == b'{\n"a": "\xc3\xa9"\n}\n'


def test_what_json_cannot_hold():
    with pytest.raises(ValueError, match="that JSON can represent, but set .* cannot be written"):
        as_json({"a": {1}})
