"""RecordFormat: base class of the file formats of records."""

from collections.abc import Iterator
from typing import Any

import apache_beam as beam
import pyarrow as pa


class RecordFormat:
    """File format whose records are read in parts and written by Beam.

    Attributes:
        suffix: str. End of the names of files that are written.
        is_typed: bool. Whether a file has a schema, which all of its records follow.
    """

    suffix: str
    is_typed = False

    def parts(self, path: str, size: int, part_bytes: int) -> list[tuple[int, int]]:
        """Returns the parts of a file that workers can read on their own.

        Args:
            path: str. File on any of Beam's file systems.
            size: int. Size of the file in bytes.
            part_bytes: int. Approximate size of a part.

        Returns:
            list of pairs `(start, stop)`, which `raw_items` takes. By default, the whole file.
        """
        return [(0, size)]

    def raw_items(self, path: str, start: int, stop: int) -> Iterator[Any]:
        """Yields the items of a part of a file, which `records` reads.

        Any exception means that the file is damaged or cannot be read.
        """
        raise NotImplementedError

    def records(self, raw: Any) -> Iterator[dict]:
        """Yields the records of an item.

        Raises:
            ValueError: If the item is not a record.
        """
        raise NotImplementedError

    def prepare(self, records: list[dict]) -> list[dict]:
        """Prepares the reading of a file by its first records, and returns them as they are read.

        By default, nothing needs to be prepared.
        """
        return records

    def schema(self, path: str) -> pa.Schema | None:
        """Returns the schema of a file, or `None` if the format has none.

        Raises:
            ValueError: If the schema has a type that is not supported.
        """
        return None

    def encode(self, record: dict, schema: pa.Schema) -> Any:
        """Returns a record in the form that the transform of `write` takes."""
        raise NotImplementedError

    def write(self, prefix: str, schema: pa.Schema, num_shards: int = 0) -> beam.PTransform:
        """Returns a transform that writes encoded records to the files `prefix-*`.

        Args:
            prefix: str. Start of the paths.
            schema: `pyarrow.Schema` of the records.
            num_shards: int. Number of files. With 0, the runner decides. Defaults to 0.
        """
        raise NotImplementedError

    def check_schema(self, schema: pa.Schema) -> None:
        """Checks that the format can write every field.

        Raises:
            ValueError: If the format has no type for a field. The message names the field.
        """
