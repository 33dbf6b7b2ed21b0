"""Every format reads what its usual library wrote, and writes what that library reads."""

import numpy as np
import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import apache_beam as beam
import pyarrow as pa

from tests.serving.annotation.formats.formats_catalogue import READ, RECORDS, SCHEMA, WRITE
from tfreps.serving.annotation.reading import READABLE, WRITABLE
from tfreps.serving.annotation.signature_specs import SPAN


def read_all(form, path):
    parts = form.parts(str(path), path.stat().st_size, 1)
    return [form.record(item) for part in parts for item in form.items(str(path), *part)]


def test_the_catalogue_is_complete():
    assert set(WRITE) == set(READ) == set(WRITABLE) == set(READABLE) - {"text"}


@pytest.mark.parametrize("name", WRITE)
def test_reads_what_the_usual_library_wrote(tmp_path, name):
    path, form = tmp_path / "file", WRITABLE[name]()
    WRITE[name](path)
    found = form.prepare(read_all(form, path))
    assert found == RECORDS
    assert read_all(form, path) == RECORDS  # the format is now prepared
    if form.is_typed:
        assert form.schema(str(path)) == SCHEMA


@pytest.mark.parametrize("name", WRITE)
def test_writes_what_the_usual_library_reads(tmp_path, name):
    form = WRITABLE[name]()
    vectors = np.array([[0.5, -1.0], [2.0, 0.25]], np.float32)
    schema = SCHEMA.append(pa.field("elmo", pa.list_(pa.list_(pa.float32()))))
    records = [{**record, "elmo": vectors} for record in RECORDS]
    with beam.Pipeline() as pipeline:
        encoded = pipeline | beam.Create([form.encode(record, schema) for record in records])
        _ = encoded | form.write(str(tmp_path / "part"), schema, num_shards=1)
    [path] = tmp_path.iterdir()
    assert path.name == f"part-00000-of-00001{form.suffix}"
    found = sorted(READ[name](path), key=lambda record: record["id"])
    expected = [{**record, "elmo": vectors.tolist()} for record in RECORDS]
    if name == "tfrecord":
        flat = {"elmo": [0.5, -1.0, 2.0, 0.25], "elmo_shape": [2, 2]}
        single = ("id", "text", "score")
        expected = [
            {**record, **{key: [record[key]] for key in single}, **flat} for record in RECORDS
        ]
    assert found == expected


@pytest.mark.parametrize(
    "name, what, kind",
    [
        ("jsonl", "JSON", pa.timestamp("us")),
        ("avro", "Avro", pa.timestamp("us")),
        ("avro", "Avro", pa.map_(pa.string(), pa.int64())),
        ("avro", "Avro", pa.list_(pa.uint64())),
        ("tfrecord", "a tf.train.Example", pa.struct([("x", pa.timestamp("us"))])),
        ("tfrecord", "a tf.train.Example", pa.list_(pa.list_(pa.list_(pa.int64())))),
    ],
)
def test_types_that_a_format_lacks(name, what, kind):
    schema = SCHEMA.append(pa.field("spans", pa.list_(SPAN)))
    WRITABLE[name]().check_schema(schema)
    WRITABLE["parquet"]().check_schema(pa.schema([("when", kind)]))
    with pytest.raises(
        ValueError, match=f"^the field 'when' has .*, which {what} does not support$"
    ):
        WRITABLE[name]().check_schema(schema.append(pa.field("when", kind)))
