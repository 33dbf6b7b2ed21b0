"""Parquet: records in Parquet files."""

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet

from tfreps.serving.annotation.formats.record_format import RecordFormat, opened

ROWS = 1000  # number of rows that are converted to records at once
GROUP_BYTES = 16 * 1024 * 1024  # size in memory of a row group that is written


class Parquet(RecordFormat):
    """Format of Parquet files, whose rows are read one row group at a time."""

    suffix = ".parquet"
    is_typed = True

    def parts(self, path, size, part_bytes):
        """Returns a list of parts `(start, stop)`, which are numbers of row groups.

        Each part except the last has at least `part_bytes` bytes.
        """
        with opened(path) as file:
            footer = pa.parquet.ParquetFile(file).metadata
        found, first, filled = [], 0, 0
        for index in range(footer.num_row_groups):
            filled += footer.row_group(index).total_byte_size
            if filled >= part_bytes or index == footer.num_row_groups - 1:
                found.append((first, index + 1))
                first, filled = index + 1, 0
        return found

    def items(self, path, start, stop):
        with opened(path) as file:
            parquet = pa.parquet.ParquetFile(file)
            for index in range(start, stop):
                for rows in parquet.iter_batches(ROWS, row_groups=[index]):
                    yield from rows.to_pylist()

    def schema(self, path):
        with opened(path) as file:
            return pa.parquet.ParquetFile(file).schema_arrow.remove_metadata()

    def encode(self, record, schema):
        return {name: _rows(record.get(name)) for name in schema.names}

    def write(self, prefix, schema, num_shards=0):
        how = {"codec": "snappy", "use_compliant_nested_type": True, "num_shards": num_shards}
        how["row_group_buffer_size"] = GROUP_BYTES
        return beam.io.WriteToParquet(prefix, schema, file_name_suffix=self.suffix, **how)


def _rows(value):
    """Converts an array with several axes to a list of arrays; returns other values unchanged.

    Arrow can convert only arrays with one axis.
    """
    return list(value) if isinstance(value, np.ndarray) and value.ndim > 1 else value
