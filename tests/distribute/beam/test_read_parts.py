"""Parts of files become batches of records and rejections."""

import json

import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import pyarrow as pa

from tfreps.distribute.beam.formats.lines import JsonLines, TextLines
from tfreps.distribute.beam.formats.parquet import Parquet
from tfreps.distribute.beam.read_parts import ReadParts, damaged, items
from tfreps.distribute.beam.record_checks import RecordCheck

CHECK = RecordCheck("text", True, ["tags"], 20)


def read(form, path, keep=None, schema=None, batch_size=2, start=0, stop=1 << 60):
    found = list(ReadParts(form, CHECK, keep, schema, batch_size).process((str(path), start, stop)))
    batches = [each for each in found if isinstance(each, list)]
    return batches, [each.value for each in found if not isinstance(each, list)]


def test_batches_and_rejections(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\n\xff\nthree\n" + b"x" * 21 + b"\nfour\nfive\n")
    batches, rejected = read(TextLines(), path)
    assert [[record["text"] for record in batch] for batch in batches] == [
        ["one", "two"],
        ["three", "four"],
        ["five"],
    ]
    assert [each["reason"][:20] for each in rejected] == [
        "the line is not UTF-",
        "the text is too long",
    ]
    assert {each["file"] for each in rejected} == {str(path)}
    assert [each["record"] for each in rejected] == [b"\xff", {"text": "x" * 21}]


def test_fields_that_are_kept_and_that_do_not_fit(tmp_path):
    path = tmp_path / "a.jsonl"
    records = [{"id": 1, "text": "a", "more": 2}, {"id": "two", "text": "b"}, {"id": 3}]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    batches, rejected = read(JsonLines(), path, ["id"], schema)
    assert batches == [[{"id": 1, "text": "a"}]]
    assert [each["reason"] for each in rejected] == [
        "the field 'id' must be int64, as in most of the first records; got 'two'",
        "the record has no field 'text'",
    ]


def test_an_empty_part(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"a long line\n")
    assert read(TextLines(), tmp_path / "a.txt", start=4) == ([], [])


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(ValueError, match="a.parquet is damaged, truncated, or not a file of this"):
        list(items(str(path), 0, 1, Parquet()))
    assert "a.parquet" in str(damaged(str(path), KeyError()))
