"""Finds the input files of a corpus, and reads them in parts.

Beam's workers run this file without an installation of tfreps. The parts of the files, and the
batches of each part, do not depend on the number of workers, so neither do the outputs. This is not
true of Beam's own readers, which yield single records that the runner divides into batches.
"""

import itertools

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems

from tfreps.serving.annotation.formats.avro import Avro
from tfreps.serving.annotation.formats.lines import JsonLines, TextLines
from tfreps.serving.annotation.formats.parquet import Parquet
from tfreps.serving.annotation.formats.record_format import EVERYTHING
from tfreps.serving.annotation.formats.tfrecord import TFRecord
from tfreps.serving.annotation.records import check_fit, sampled_schema

WRITABLE = {"jsonl": JsonLines, "parquet": Parquet, "avro": Avro, "tfrecord": TFRecord}
READABLE = {"text": TextLines, **WRITABLE}
SAMPLE = 1000  # number of records from which the schema of a format without schemas is inferred
PARTS = 64  # number of parts of a corpus of medium size
LEAST_PART, MOST_PART = 1 << 16, 64 << 20  # minimum and maximum size of a part in bytes


def match_files(patterns, allow_empty=False):
    """Returns a dict from the files that match paths or glob patterns to their sizes in bytes.

    Empty files are left out. A ValueError is raised if a pattern matches no file, if all files are
    empty, or if any file is empty and `allow_empty` is `False`.
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
        raise ValueError(
            f"{', '.join(patterns)} must match at least one file with records; got only empty "
            "files. Choose other input files."
        )
    return found


def input_schema(paths, form, keep=None):
    """Returns the Arrow schema of the records in the files `paths`.

    `form` is the `RecordFormat` of the files. A ValueError is raised if the schemas of the files
    differ. For a format without schemas, the schema is inferred from the first `SAMPLE` records. If
    `keep` is given, an inferred schema has only the fields in `keep`.
    """
    if not form.is_typed:
        records = sample_records(paths, form)
        if keep is not None:
            records = [{n: v for n, v in record.items() if n in keep} for record in records]
        return sampled_schema(records)
    found = None
    for path in paths:
        schema = form.schema(path)
        if found is not None and schema != found:
            raise ValueError(
                f"{path} must have the schema of {paths[0]}; {differences(schema, found)}. "
                "Annotate files with different schemas in separate runs."
            )
        found = schema
    return found


def differences(schema, expected):
    """Returns the part of an error message that lists the fields in which two schemas differ."""
    here, there = ({f"{field.name}: {field.type}" for field in each} for each in (schema, expected))
    if here == there:
        return "the order of the fields differs"
    names = (", ".join(sorted(fields)) or "none" for fields in (here - there, there - here))
    return "the additional fields are {}, and the missing fields are {}".format(*names)


def sample_records(paths, form):
    """Returns a list of the first records of the files, up to `SAMPLE`.

    Items that are not records are skipped. A ValueError is raised if no record can be read.
    """
    records, reason = [], "it is empty"
    for path in paths:
        for item in itertools.islice(form.items(path, 0, EVERYTHING), SAMPLE):
            if len(records) == SAMPLE:
                return form.prepare(records)
            try:
                records.append(form.record(item))
            except ValueError as error:
                reason = str(error)
    if not records:
        raise ValueError(
            f"{paths[0]}: expected at least one record that can be read; got none ({reason}). "
            "Check the file and `input_format`."
        )
    return form.prepare(records)


def part_bytes(sizes):
    """Returns the size in bytes of each part of a corpus whose files have the given sizes."""
    return min(max(sum(sizes) // PARTS, LEAST_PART), MOST_PART)


def divide(file, form, size):
    """Divides a file into parts of about `size` bytes; returns a list of `(path, start, stop)`.

    `file` is a tuple of the path and the number of bytes. `form` is the `RecordFormat` of the file,
    which determines the unit of `start` and `stop`.
    """
    path, num_bytes = file
    return [(path, *part) for part in form.parts(path, num_bytes, size)]


def read_part(part, form, keep, schema, batch_size):
    """Yields the records of a part of a file in lists of pairs `(path, record)`.

    An item that is not valid, or whose record does not fit `schema`, is yielded with Beam's tag
    `rejected`, as a pair of the path and a dict with the keys `reason` and `record`.

    Args:
        part: tuple `(path, start, stop)` that `divide` returned.
        form: `RecordFormat` of the file.
        keep: set of str or None. Fields of the records to yield. If `None`, all fields are yielded.
        schema: `pyarrow.Schema` or None. If `None`, every record fits.
        batch_size: int. Maximum number of records in a list.
    """
    path, start, stop = part
    batch = []
    for found in form.items(path, start, stop):
        try:
            found = form.record(found)
            if keep is not None:
                found = {name: value for name, value in found.items() if name in keep}
            if schema is not None:
                check_fit(found, schema)
        except ValueError as error:
            rejection = path, {"reason": str(error), "record": found}
            yield beam.pvalue.TaggedOutput("rejected", rejection)
            continue
        batch.append((path, found))
        if len(batch) == batch_size:
            yield batch
            batch = []
    if batch:
        yield batch
