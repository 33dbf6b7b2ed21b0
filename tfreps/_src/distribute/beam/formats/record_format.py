"""RecordFormat: base class of the file formats of records."""

import pyarrow as pa

PLAIN = [pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating]
PLAIN += [pa.types.is_string, pa.types.is_large_string]


class RecordFormat:
    """File format whose records are read in parts and written by Beam.

    A subclass defines `raw_items`, which yields the items of a part of a file and may raise any
    exception if it cannot; `records`, which yields the records of an item, or raises a ValueError
    if it is not a record; `write`, which returns a Beam transform that writes the files `prefix-*`;
    and `encode`, which returns a record in the form that this transform takes. A typed format also
    defines `schema`, which returns the `pyarrow.Schema` of a file.

    Attributes:
        suffix: str. End of the names of files that are written.
        is_typed: bool. Whether a file has a schema, which all of its records follow.
        lacking: str. Name of the format in errors about a type that it lacks.
        types: list of tests of the Arrow types that a field may be made of, or None for all types.
        most_lists: int. Maximum number of lists around such a type.
    """

    suffix: str
    lacking: str
    is_typed = False
    types = None
    most_lists = 100

    def parts(self, path, size, part_bytes):
        """Returns a list of the parts `(start, stop)` of a file, by default `[(0, size)]`."""
        return [(0, size)]

    def prepare(self, records):
        """Adapts the format to the first records of a corpus, and returns them in the new form."""
        return records

    def check_schema(self, schema):
        """Raises a ValueError that names the first field whose type the format does not support."""
        for field in schema:
            if self.types is not None and not _is_made_of(field.type, self.types, self.most_lists):
                raise ValueError(
                    f"the field {field.name!r} has the type {field.type}, which {self.lacking} "
                    "does not support"
                )


def _is_made_of(kind, types, most_lists):
    """Returns True if an Arrow type consists of `types`, structs and at most `most_lists` lists."""
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return most_lists > 0 and _is_made_of(kind.value_type, types, most_lists - 1)
    if pa.types.is_struct(kind):
        return all(_is_made_of(field.type, types, most_lists) for field in kind)
    return any(is_kind(kind) for is_kind in types)
