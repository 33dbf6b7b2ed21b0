"""Records that a model cannot read are found; others get a schema."""

import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import pyarrow as pa

from tfreps.serving.annotation.records import CheckRecords, as_rejected, misfit, sampled_schema

TEXT = CheckRecords("text", True, ["tags", "text_id"], 10)
TOKENS = CheckRecords("tokens", False, ["tokens", "tags"], 10)


@pytest.mark.parametrize(
    "check, record, reason",
    [
        (TEXT, {"body": "a"}, "the record has no field 'text'"),
        (TEXT, {"text": 7}, "the field 'text' must be a text; got int"),
        (TEXT, {"text": None}, "the field 'text' must be a text; got NoneType"),
        (TEXT, {"text": "a", "tags": 1}, "the record already has the field 'tags' of the output"),
        (TEXT, {"text": "\ud83d"}, "contains a character that UTF-8 cannot represent"),
        (TEXT, {"text": "é" * 6}, "the text is too long: 12 bytes, and at most 10 are read"),
        (TOKENS, {"tokens": "a b"}, "the field 'tokens' must be a list of texts; got str"),
        (TOKENS, {"tokens": ["a", 7]}, "the field 'tokens' must be a list of texts; got list"),
        (TOKENS, {"tokens": ["abcdef", "ghijk"]}, "the text is too long: 11 bytes"),
    ],
)
def test_reasons(check, record, reason):
    assert reason in check.reason(record)
    [rejected] = check.process(record)
    assert rejected.tag == "rejected" and rejected.value["record"] == record


@pytest.mark.parametrize(
    "check, record",
    [(TEXT, {"text": "", "id": 3}), (TEXT, {"text": "é" * 5}), (TOKENS, {"tokens": []})],
)
def test_records_that_can_be_read(check, record):
    assert check.reason(record) is None
    assert list(check.process(record)) == [record]


def test_a_rejection_names_its_file():
    assert as_rejected("why", b"raw", "a.txt").value == {
        "reason": "why",
        "file": "a.txt",
        "record": b"raw",
    }


def test_schema_of_sampled_records():
    records = [{"id": 1, "text": "a"}, {"text": "b", "x": None, "tags": ["O"]}]
    expected = [("id", pa.int64()), ("text", pa.string()), ("x", pa.string())]
    expected.append(("tags", pa.list_(pa.string())))
    assert sampled_schema(records) == pa.schema(expected)


@pytest.mark.parametrize(
    "values, kind",
    [
        ([1, "two", 3], pa.int64()),
        ([None, "one", 2, "three", None, None], pa.string()),
        ([1, 2.5], pa.float64()),
        ([True, 1, 2], pa.int64()),
        ([2**80], pa.int64()),
        ([[1, "a", 2], 5, []], pa.list_(pa.int64())),
        ([{"x": 1}, {"x": "b", "y": [True]}, {"x": 2}, "a"],
         pa.struct([("x", pa.int64()), ("y", pa.list_(pa.bool_()))])),
    ],
    ids=str,
)  # fmt: skip
def test_schema_of_mixed_types(values, kind):
    records = [{"id": value} for value in values]
    assert sampled_schema(records) == pa.schema([("id", kind)])
    fits = [value for value in values if misfit({"id": value}, sampled_schema(records)) is None]
    assert len(pa.array(fits, kind)) == len(fits)  # Arrow agrees


SCHEMA = pa.schema(
    [("id", pa.int64()), ("ok", pa.bool_()), ("share", pa.float64()), ("text", pa.string())]
    + [("tags", pa.list_(pa.string())), ("who", pa.struct([("name", pa.string())]))]
)


@pytest.mark.parametrize(
    "record",
    [
        {"id": -(2**63), "ok": True, "share": 1, "text": "a", "tags": ["b", None], "who": None},
        {"who": {"name": "Ada"}, "tags": []},
        {},
    ],
)
def test_records_that_fit(record):
    assert misfit(record, SCHEMA) is None
    pa.RecordBatch.from_pylist([record], SCHEMA)  # Arrow agrees


@pytest.mark.parametrize(
    "record, field",
    [
        ({"id": 2**63}, "id"),
        ({"id": True}, "id"),
        ({"id": 1.5}, "id"),
        ({"ok": 1}, "ok"),
        ({"share": "1"}, "share"),
        ({"text": b"a"}, "text"),
        ({"tags": "O"}, "tags"),
        ({"tags": [1]}, "tags"),
        ({"who": {"age": 3}}, "who"),
        ({"more": 1}, "more"),
    ],
)
def test_records_that_do_not_fit(record, field):
    assert misfit(record, SCHEMA).startswith(f"the field {field!r} ")
