"""Input files are found, divided, sampled and read in parts."""

import json

import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import pyarrow as pa
import pyarrow.parquet

from tests.serving.annotation.formats.formats_catalogue import RECORDS
from tfreps.serving.annotation.formats.lines import JsonLines, TextLines
from tfreps.serving.annotation.formats.parquet import Parquet
from tfreps.serving.annotation.formats.record_format import EVERYTHING
from tfreps.serving.annotation.reading import (
    divide,
    input_schema,
    match_files,
    part_bytes,
    read_part,
    sample_records,
)


def test_files_of_patterns(tmp_path):
    for name, text in {"b.txt": "1234", "a.txt": "12", "c.csv": "1"}.items():
        (tmp_path / name).write_text(text)
    found = match_files([f"{tmp_path}/*.txt", f"{tmp_path}/a.txt"])
    assert found == {f"{tmp_path}/a.txt": 2, f"{tmp_path}/b.txt": 4}
    with pytest.raises(ValueError, match=r"\*.json matches no file. Give a path or a glob pattern"):
        match_files([f"{tmp_path}/*.txt", f"{tmp_path}/*.json"])


def test_empty_files(tmp_path):
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(ValueError, match=r"a.txt is empty \(0 bytes\): expected at least one rec"):
        match_files([f"{tmp_path}/*"])
    with pytest.raises(ValueError, match="file with records; got only empty files"):
        match_files([f"{tmp_path}/*"], allow_empty=True)
    (tmp_path / "b.txt").write_text("b")
    assert match_files([f"{tmp_path}/*"], allow_empty=True) == {f"{tmp_path}/b.txt": 1}


def test_parts_of_files(tmp_path):
    expected = [("a.txt", 0, 4), ("a.txt", 4, 8), ("a.txt", 8, 10)]
    assert divide(("a.txt", 10), TextLines(), 4) == expected
    assert divide(("b.txt.gz", 7), TextLines(), 4) == [("b.txt.gz", 0, EVERYTHING)]
    (tmp_path / "a.txt").write_text("x" * 10)
    with pytest.raises(ValueError, match="a.txt is damaged, truncated, or not in the given"):
        divide((f"{tmp_path}/a.txt", 10), Parquet(), 4)


def test_the_sample_skips_lines_that_are_no_records(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("[]\n" + "".join(json.dumps(record) + "\n" for record in RECORDS))
    assert sample_records([str(path)], JsonLines()) == RECORDS
    path.write_text('{"id": 1, "text": "a"}\n{"id": "b", "text": "b"}\n')
    mixed = pa.schema([("id", pa.int64()), ("text", pa.string())])
    assert input_schema([str(path)], JsonLines()) == mixed
    assert input_schema([str(path)], JsonLines(), {"text"}) == pa.schema([("text", pa.string())])
    path.write_text("no JSON\n" * 3000)
    with pytest.raises(
        ValueError, match="a.jsonl: expected at least one record .* .the line must be"
    ):
        sample_records([str(path)], JsonLines())


def test_files_of_different_schemas(tmp_path):
    for name, kind in {"a": pa.int64(), "b": pa.string()}.items():
        pa.parquet.write_table(pa.table({"id": pa.array([None], kind)}), tmp_path / name)
    message = (
        "b must have the schema of .*a; the additional fields are id: string, and the "
        "missing fields are id: int64. Annotate"
    )
    with pytest.raises(ValueError, match=message):
        input_schema([f"{tmp_path}/a", f"{tmp_path}/b"], Parquet())


def test_the_size_of_parts():
    """A corpus of medium size has 64 parts; the size of a part has bounds."""
    assert [part_bytes([size - 4, 4]) for size in (10, 64 * 10**6, 10**10)] == [
        1 << 16,
        10**6,
        64 << 20,
    ]


def read(form, path, keep=None, schema=None, batch_size=2):
    """Returns the lists of records of a file, and its rejections; checks that all have the path."""
    found = list(read_part((str(path), 0, EVERYTHING), form, keep, schema, batch_size))
    batches = [each for each in found if isinstance(each, list)]
    rejected = [each.value for each in found if not isinstance(each, list)]
    assert {pair[0] for pairs in [*batches, rejected] for pair in pairs} == {str(path)}
    return [[record for _, record in batch] for batch in batches], [each for _, each in rejected]


def test_batches_and_rejections(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\n\xff\nthree\n\nfive\n")
    batches, [rejected] = read(TextLines(), path)
    assert batches == [
        [{"text": "one"}, {"text": "two"}],
        [{"text": "three"}, {"text": ""}],
        [{"text": "five"}],
    ]
    reason = "the line must be UTF-8 text; byte 1 of the line is not"
    assert rejected == {"reason": reason, "record": b"\xff"}


def test_fields_that_are_kept_and_that_do_not_fit(tmp_path):
    path = tmp_path / "a.jsonl"
    records = [{"id": 1, "text": "a", "more": 2}, {"id": "two", "text": "b"}]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    batches, rejected = read(JsonLines(), path, {"id", "text"}, schema)
    assert batches == [[{"id": 1, "text": "a"}]]
    reason = "the field 'id' must be int64, as in most of the first records; got 'two'"
    assert rejected == [{"reason": reason, "record": {"id": "two", "text": "b"}}]
