"""Avro: records in Avro files."""

import apache_beam as beam
import fastavro
import numpy as np
from apache_beam.io.filesystems import FileSystems

from tfreps.distribute.beam.formats.avro_schemas import arrow_schema, avro_schema
from tfreps.distribute.beam.formats.record_format import RecordFormat


class Avro(RecordFormat):
    """Records of Avro files, each file as one part."""

    suffix = ".avro"
    is_typed = True

    def raw_items(self, path, start, stop):
        """Yields the records of a file."""
        with FileSystems.open(path) as file:
            yield from fastavro.reader(file)

    def records(self, raw):
        """Yields the record."""
        yield raw

    def schema(self, path):
        """Returns the schema of a file as an Arrow schema."""
        with FileSystems.open(path) as file:
            return arrow_schema(fastavro.reader(file).writer_schema)

    def encode(self, record, schema):
        """Returns a dict of plain Python values."""
        return {name: _plain(record.get(name)) for name in schema.names}

    def write(self, prefix, schema, num_shards=0):
        """Returns a transform that writes Avro files compressed by deflate."""
        how = {"file_name_suffix": self.suffix, "num_shards": num_shards}
        return beam.io.WriteToAvro(prefix, avro_schema(schema), **how)

    def check_schema(self, schema):
        """Checks that Avro has a type for every field."""
        for field in schema:
            try:
                avro_schema([field])
            except ValueError as error:
                raise ValueError(f"the field {field.name!r}: {error}") from error


def _plain(value):
    return value.tolist() if isinstance(value, np.ndarray) else value
