"""Records get a schema, and those that do not fit it are found."""

import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import pyarrow as pa

from tfreps.serving.annotation.records import check_fit, sampled_schema


def misfit(record, schema):
    """Returns the error of `check_fit`, or an empty str."""
    try:
        check_fit(record, schema)
    except ValueError as error:
        return str(error)
    return ""


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
    fits = [value for value in values if not misfit({"id": value}, sampled_schema(records))]
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
    check_fit(record, SCHEMA)
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
