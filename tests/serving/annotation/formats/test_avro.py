"""Avro files are read whole, and written with a schema."""

import io
import re

import numpy as np
import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import fastavro
import pyarrow as pa

from tfreps.serving.annotation.formats.avro import Avro, arrow_schema, avro_schema

EVERY_TYPE = pa.schema(
    [("id", pa.int64()), ("ok", pa.bool_()), ("f", pa.float32()), ("d", pa.float64())]
    + [("text", pa.string()), ("raw", pa.binary()), ("m", pa.list_(pa.list_(pa.float32())))]
    + [
        (
            "spans",
            pa.list_(pa.struct([("type", pa.string()), ("at", pa.struct([("n", pa.int64())]))])),
        )
    ]
)


def test_arrays_become_lists_and_missing_fields_null():
    schema = pa.schema([("v", pa.list_(pa.float32())), ("id", pa.int64())])
    found = Avro().encode({"v": np.array([0.5], np.float32)}, schema)
    assert found == {"v": [0.5], "id": None}


def test_there_and_back():
    assert arrow_schema(avro_schema(EVERY_TYPE)) == EVERY_TYPE


def test_fastavro_writes_the_schema():
    record = {"id": 1, "ok": True, "f": 0.5, "d": 0.25, "text": "é", "raw": b"\0", "m": [[1.0], []]}
    record["spans"] = [{"type": "PER", "at": {"n": 3}}]
    file = io.BytesIO()
    fastavro.writer(file, avro_schema(EVERY_TYPE), [record, {}])
    file.seek(0)
    assert list(fastavro.reader(file)) == [record, dict.fromkeys(EVERY_TYPE.names)]


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "map", "values": "int"},
        {"type": "long", "logicalType": "timestamp-millis"},
        ["null", "int", "string"],
    ],
)
def test_avro_types_without_an_arrow_type(kind):
    message = "of the type array, .*, or a union of .*, without a logical type; got "
    with pytest.raises(ValueError, match=message + re.escape(str(kind))):
        arrow_schema({"type": "record", "name": "R", "fields": [{"name": "x", "type": kind}]})


def test_a_file_without_records():
    with pytest.raises(ValueError, match="schema of type record; got string"):
        arrow_schema("string")


def test_enums_are_strings():
    enum = {"type": "enum", "name": "E", "symbols": ["A"]}
    found = arrow_schema({"type": "record", "name": "R", "fields": [{"name": "x", "type": enum}]})
    assert found == pa.schema([("x", pa.string())])
