"""RecordFormat: base class of the file formats of records."""

import bz2
import contextlib
import gzip
import lzma
import os

import pyarrow as pa
from apache_beam.io.filesystems import FileSystems

UNPACK = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
DAMAGED = "is damaged, truncated, or not in the given `input_format`"
EVERYTHING = 1 << 62  # end of a part that contains the whole file, however large the file is
PLAIN = [pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating]
PLAIN += [pa.types.is_string, pa.types.is_large_string]


class RecordFormat:
    """File format of records, which Beam reads and writes.

    A file is divided into parts. A part contains items, such as lines, each with one record, which
    is a dict. A subclass defines these methods:

    - `items(path, start, stop)` yields the items of a part of a file.
    - `record(item)` returns the record of an item, or raises a ValueError if the item is not valid.
      By default, the item is the record.
    - `write(prefix, schema, num_shards)` returns a Beam transform that writes records to the files
      `prefix-*`.
    - `encode(record, schema)` returns a record in the form that this transform requires.
    - `schema(path)` returns the `pyarrow.Schema` of a file. It is required if `is_typed` is `True`.

    Attributes:
        suffix: str. End of the names of files that are written.
        is_typed: bool. Whether a file contains the schema of its records.
        lacking: str. Name of the format in errors about a type that the format does not support.
        types: list of functions or None. Each function takes an Arrow type and returns whether the
            format supports this type. If `None`, all types are supported.
        most_lists: int. Maximum depth of nested lists of a supported type.
    """

    suffix: str
    lacking: str
    is_typed = False
    types = None
    most_lists = 100

    def parts(self, path, size, part_bytes):
        """Returns a list of the parts `(start, stop)` of a file of `size` bytes.

        A part has about `part_bytes` bytes. The unit of `start` and `stop`, such as bytes, depends
        on the format. By default, a file is not divided.
        """
        return [(0, EVERYTHING)]

    def record(self, item):
        return item

    def prepare(self, records):
        """Adapts the format to `records`, the first records of a corpus.

        Returns a list of these records as the adapted format reads them.
        """
        return records

    def check_schema(self, schema):
        """Raises a ValueError that names the first field whose type the format does not support."""
        for field in schema:
            if self.types is not None and not _is_made_of(field.type, self.types, self.most_lists):
                raise ValueError(
                    f"the field {field.name!r} has the type {field.type}, which {self.lacking} "
                    "does not support"
                )


@contextlib.contextmanager
def opened(path):
    """Context manager that opens a file on any of Beam's file systems, and yields it.

    A file with a suffix in `UNPACK` is decompressed; unlike with Beam's own decompression, reading
    raises an error if the file is incomplete. Any error becomes a ValueError that names the file.
    """
    unpack = UNPACK.get(os.path.splitext(path)[1], contextlib.nullcontext)
    try:
        with (
            FileSystems.open(path, compression_type="uncompressed") as file,
            unpack(file) as unpacked,
        ):
            yield unpacked
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(f"{path} {DAMAGED} ({reason}).") from error


def _is_made_of(kind, types, most_lists):
    """Returns True if an Arrow type consists of types that a function in `types` accepts.

    The types may be in structs, and in lists of a depth of at most `most_lists`.
    """
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return most_lists > 0 and _is_made_of(kind.value_type, types, most_lists - 1)
    if pa.types.is_struct(kind):
        return all(_is_made_of(field.type, types, most_lists) for field in kind)
    return any(is_kind(kind) for is_kind in types)
