"""TFRecord: records as `tf.train.Example` in TFRecord files."""

import apache_beam as beam
import numpy as np
import pyarrow as pa
import tensorflow as tf
from apache_beam.io.tfrecordio import _TFRecordUtil  # Beam has no public API for single records

from tfreps.serving.annotation.formats.record_format import PLAIN, RecordFormat, opened


class TFRecord(RecordFormat):
    """Format of TFRecord files with `tf.train.Example`s. A file is not divided into parts.

    A feature is read as a list of values. After `prepare`, a feature with exactly one value in each
    of the first records is read as a single value. Bytes that are valid UTF-8 become str. A matrix
    is written as two features, `NAME` with its values and `NAME_shape`. The spans of a text are
    written as one feature for each field of a span, such as `spans_type`.
    """

    suffix = ".tfrecord"
    lacking = "a tf.train.Example"
    types = [*PLAIN, pa.types.is_binary]
    most_lists = 2
    scalars: frozenset[str] = frozenset()

    def items(self, path, start, stop):
        with opened(path) as file:
            while (item := _TFRecordUtil.read_record(file)) is not None:
                yield item

    def record(self, item):
        try:
            features = tf.train.Example.FromString(item).features.feature
        except Exception as error:
            raise ValueError(
                "the record must be a tf.train.Example, but cannot be parsed. Check the format "
                "of the file"
            ) from error
        record = {name: _values(feature) for name, feature in sorted(features.items())}
        for name in self.scalars & record.keys():
            if len(record[name]) != 1:
                raise ValueError(
                    f"the feature {name!r} must have one value, as in the first records; got "
                    f"{len(record[name])}"
                )
            [record[name]] = record[name]
        return record

    def prepare(self, records):
        """Finds the features that have exactly one value in each of the first records.

        These features are then read as single values. Returns the records in this form.
        """
        names = {name for record in records for name in record}
        several = {name for record in records for name in record if len(record[name]) != 1}
        self.scalars = frozenset(names - several)
        return [
            {name: v[0] if name in self.scalars else v for name, v in record.items()}
            for record in records
        ]

    def encode(self, record, schema):
        found = {}
        for name, value in record.items():
            kind = None if schema is None else schema.field(name).type
            for key, values in _flat(name, value, kind):
                found[key] = _feature(values)
        example = tf.train.Example(features=tf.train.Features(feature=found))
        return example.SerializeToString(deterministic=True)

    def write(self, prefix, schema, num_shards=0):
        how = {"file_name_suffix": self.suffix, "num_shards": num_shards}
        return beam.io.WriteToTFRecord(prefix, **how)


def _values(feature):
    """Returns the values of a feature as a list. Bytes become str if all of them are UTF-8."""
    kind = feature.WhichOneof("kind")
    values = list(getattr(feature, kind).value) if kind else []
    if kind == "bytes_list":
        try:
            return [value.decode("utf-8") for value in values]
        except UnicodeDecodeError:
            return values  # these bytes are not text, but, for example, an image
    return values


def _flat(name, value, kind=None):
    """Yields `(name, flat list of values)` for each feature that stores a value of type `kind`."""
    if isinstance(value, np.ndarray) and value.ndim > 1:
        yield name, value.ravel()
        yield f"{name}_shape", list(value.shape)
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _flat(f"{name}_{key}", each)
    elif kind is not None and pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
        for field in kind.value_type:
            # Leaves out the tokens of a span, which its position determines.
            if pa.types.is_list(field.type):
                continue
            values = [each[field.name] for each in value]
            if None not in values:  # spans of tokens have no positions in characters
                yield f"{name}_{field.name}", values
    elif value is not None:
        yield name, value if isinstance(value, list | np.ndarray) else [value]


def _feature(values):
    if not len(values):
        return tf.train.Feature()  # TensorFlow reads an empty feature as any type
    first = values[0]
    if isinstance(first, str | bytes):
        encoded = [v.encode() if isinstance(v, str) else v for v in values]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=encoded))
    if isinstance(first, float | np.floating):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))
    return tf.train.Feature(int64_list=tf.train.Int64List(value=[int(v) for v in values]))
