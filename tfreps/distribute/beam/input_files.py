"""Finds, divides and samples the input files of a corpus before a run."""

import concurrent.futures
import itertools

import pyarrow as pa
from apache_beam.io.filesystems import FileSystems

from tfreps.distribute.beam.formats.avro import Avro
from tfreps.distribute.beam.formats.lines import JsonLines, TextLines
from tfreps.distribute.beam.formats.parquet import Parquet
from tfreps.distribute.beam.formats.record_format import RecordFormat
from tfreps.distribute.beam.formats.tfrecord import TFRecord
from tfreps.distribute.beam.read_parts import damaged, items
from tfreps.distribute.beam.record_schemas import sampled_schema

READABLE = {
    "text": TextLines,
    "jsonl": JsonLines,
    "parquet": Parquet,
    "avro": Avro,
    "tfrecord": TFRecord,
}
WRITABLE = {name: kind for name, kind in READABLE.items() if name != "text"}
SAMPLE = 1000  # records that determine the schema of a format without one
THREADS = 16  # that read the ends of files at the same time
EVERYTHING = 1 << 62  # end of the part that is a whole file


def find_files(patterns: list[str], allow_empty: bool = False) -> dict[str, int]:
    """Returns the files of patterns and their sizes in bytes.

    Args:
        patterns: list of str. Paths or glob patterns on any of Beam's file systems.
        allow_empty: bool. Whether files of 0 bytes are left out instead of being an error. Defaults
            to `False`.

    Raises:
        ValueError: If a pattern matches no file, or a file is empty.
    """
    found = {}
    for pattern, match in zip(patterns, FileSystems.match(patterns), strict=True):
        if not match.metadata_list:
            raise ValueError(f"{pattern} matches no file. Give a path or a glob pattern in quotes.")
        found |= {file.path: file.size_in_bytes for file in match.metadata_list}
    empty = [path for path, size in found.items() if not size]
    if empty and not allow_empty:
        raise ValueError(
            f"{empty[0]} is empty (0 bytes): expected at least one record. Remove the file, or set "
            "`allow_empty` to leave out empty files."
        )
    found = {path: size for path, size in sorted(found.items()) if size}
    if not found:
        raise ValueError(f"{patterns[0]} has no file that is not empty.")
    return found


def divide_files(
    sizes: dict[str, int], form: RecordFormat, part_bytes: int
) -> list[tuple[str, int, int]]:
    """Returns the parts of files as triples `(path, start, stop)`.

    Args:
        sizes: dict of path -> size in bytes, as returned by `find_files`.
        form: `RecordFormat` of the files.
        part_bytes: int. Approximate size of a part.

    Raises:
        ValueError: If a file is damaged or cannot be read. The message names the file.
    """

    def divide(path):
        try:
            return [(path, *part) for part in form.parts(path, sizes[path], part_bytes)]
        except Exception as error:
            raise damaged(path, error) from error

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        return [part for parts in pool.map(divide, sizes) for part in parts]


def sample_records(paths: list[str], form: RecordFormat) -> list[dict]:
    """Returns the first records of the files, without items that are not records.

    Raises:
        ValueError: If there is no record, or a file is damaged. The message says why.
    """
    records, reason = [], "it is empty"
    for path in paths:
        for item in itertools.islice(items(path, 0, EVERYTHING, form), SAMPLE):
            try:
                records += itertools.islice(form.records(item), SAMPLE - len(records))
            except ValueError as error:
                reason = str(error)
        if len(records) >= SAMPLE:
            break
    if not records:
        raise ValueError(f"{paths[0]} has no record that can be read: {reason}.")
    return form.prepare(records)


def input_schema(paths: list[str], form: RecordFormat, keep: set | None = None) -> pa.Schema:
    """Returns the schema of the records, which all files must have.

    For a format without schemas, it is that of the first `SAMPLE` records.

    Args:
        paths: list of str. The files.
        form: `RecordFormat` of the files.
        keep: set of str or None. Fields to which the records of a format without schemas are
            reduced. If `None` (the default), all fields are described.

    Raises:
        ValueError: If files have different schemas, or a schema has an unsupported type.
    """
    if not form.is_typed:
        records = sample_records(paths, form)
        if keep is not None:
            records = [{n: v for n, v in record.items() if n in keep} for record in records]
        return sampled_schema(records)
    found = None
    for path in paths:
        try:
            schema = form.schema(path)
        except Exception as error:
            raise damaged(path, error) from error
        if found is not None and schema != found:
            raise ValueError(
                f"{path} has another schema than {paths[0]}: {_difference(schema, found)}. "
                "Annotate files of different schemas one after the other."
            )
        found = schema
    return found


def _difference(schema, other):
    here = {f"{field.name}: {field.type}" for field in schema}
    there = {f"{field.name}: {field.type}" for field in other}
    return ", ".join(sorted(here ^ there)) or "the order of the fields differs"
