"""Files of every format, written and read by the libraries that users have."""

import json

import fastavro
import pyarrow as pa
import pyarrow.parquet
import tensorflow as tf

from tfreps.serving.annotation.formats.avro import avro_schema
from tfreps.serving.annotation.formats.tfrecord import TFRecord

RECORDS = [
    {"id": 1, "text": "Ada lives in London .", "tokens": ["Ada", "lives"], "score": 0.5},
    {"id": 2, "text": "", "tokens": [], "score": -1.25},
    {"id": 3, "text": "naïve 你好 .", "tokens": ["naïve", "你好", "."], "score": 2.0},
]
SCHEMA = pa.schema(
    [("id", pa.int64()), ("text", pa.string())]
    + [("tokens", pa.list_(pa.string())), ("score", pa.float64())]
)


def write_jsonl(path, records=RECORDS):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_parquet(path, records=RECORDS):
    table = pa.Table.from_pylist(records, SCHEMA if records is RECORDS else None)
    pa.parquet.write_table(table, path, row_group_size=2)


def write_avro(path, records=RECORDS):
    with open(path, "wb") as file:
        fastavro.writer(file, avro_schema(SCHEMA), records)


def write_tfrecord(path, records=RECORDS):
    with tf.io.TFRecordWriter(str(path)) as file:
        for record in records:
            file.write(TFRecord().encode(record, None))


def read_jsonl(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def read_parquet(path):
    return pa.parquet.read_table(path).to_pylist()


def read_avro(path):
    with open(path, "rb") as file:
        return list(fastavro.reader(file))


def read_tfrecord(path):
    """Reads the features of Examples as lists, since the format does not know single values."""
    found = []
    for raw in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        features = tf.train.Example.FromString(raw).features.feature
        found.append({name: values(feature) for name, feature in features.items()})
    return found


def values(feature):
    kind = feature.WhichOneof("kind")
    found = list(getattr(feature, kind).value) if kind else []
    return [v.decode() for v in found] if kind == "bytes_list" else found


WRITE = {
    "jsonl": write_jsonl,
    "parquet": write_parquet,
    "avro": write_avro,
    "tfrecord": write_tfrecord,
}
READ = {"jsonl": read_jsonl, "parquet": read_parquet, "avro": read_avro, "tfrecord": read_tfrecord}
