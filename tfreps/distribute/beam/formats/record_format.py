"""RecordFormat: base class of the file formats of records."""


class RecordFormat:
    """File format whose records are read in parts and written by Beam.

    Subclasses implement `raw_items`, `records`, `encode` and `write`.

    Attributes:
        suffix: str. End of the names of files that are written.
        is_typed: bool. Whether a file has a schema, which all of its records follow.
    """

    suffix: str
    is_typed = False

    def parts(self, path, size, part_bytes):
        """Returns the parts `(start, stop)` of a file; by default, the whole file."""
        return [(0, size)]

    def raw_items(self, path, start, stop):
        """Yields the items of a part. Any exception means that the file cannot be read."""
        raise NotImplementedError

    def records(self, raw):
        """Yields the records of an item; raises a ValueError if it is not a record."""
        raise NotImplementedError

    def prepare(self, records):
        """Prepares the reading of files by their first records; returns these as they are read."""
        return records

    def schema(self, path):
        """Returns the `pyarrow.Schema` of a file, or `None` if the format has none."""
        return None

    def encode(self, record, schema):
        """Returns a record in the form that the transform of `write` takes."""
        raise NotImplementedError

    def write(self, prefix, schema, num_shards=0):
        """Returns a transform that writes encoded records to the files `prefix-*`."""
        raise NotImplementedError

    def check_schema(self, schema):
        """Raises a ValueError that names the field if the format has no type for it."""
