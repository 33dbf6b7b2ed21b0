"""TextLines and JsonLines: one text, or one JSON object, per line."""

import json

import apache_beam as beam
import numpy as np
import pyarrow as pa

from tfreps.serving.annotation.formats.record_format import PLAIN, UNPACK, RecordFormat, opened

DECIMALS = 7  # decimals of a number in JSON; float32 has about 7 significant digits


class TextLines(RecordFormat):
    """Format of UTF-8 files with one text per line.

    A line is read as a record with the field `text`, without white space at its start and end.
    """

    suffix = ".txt"

    def parts(self, path, size, part_bytes):
        """Returns a list of parts `(start, stop)` in bytes; a compressed file is not divided."""
        if path.endswith(tuple(UNPACK)):
            return super().parts(path, size, part_bytes)
        return [(start, min(start + part_bytes, size)) for start in range(0, size, part_bytes)]

    def items(self, path, start, stop):
        """Yields, as bytes, the lines whose first byte is in the part from `start` to `stop`."""
        with opened(path) as file:
            if start:  # a line that began before `start` belongs to the preceding part
                file.seek(start - 1)
                start += len(file.readline()) - 1
            while start < stop and (line := file.readline()):
                start += len(line)
                yield line.rstrip(b"\r\n")

    def record(self, item):
        return {"text": decoded(item).strip()}


class JsonLines(TextLines):
    """Format of UTF-8 files with one JSON object per line."""

    suffix = ".jsonl"
    lacking = "JSON"
    types = [*PLAIN, pa.types.is_null]

    def record(self, item):
        text = decoded(item)
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"the line must be a JSON object, but is not JSON ({error})"
            ) from error
        if not isinstance(record, dict):
            raise ValueError(f"the line must be a JSON object; got {type(record).__name__}")
        if b"\\u" in item:  # an escape may be one half of a surrogate pair
            try:
                json.dumps(record, ensure_ascii=False).encode("utf-8")
            except UnicodeEncodeError as error:
                raise ValueError(
                    "the line must contain only escapes of whole characters; got one half of a "
                    "surrogate pair"
                ) from error
        return record

    def encode(self, record, schema):
        """Returns a record as a line of JSON. Numbers in arrays are rounded to 7 decimals."""
        return json.dumps(record, ensure_ascii=False, default=_plain)

    def write(self, prefix, schema, num_shards=0):
        return beam.io.WriteToText(prefix, self.suffix, num_shards=num_shards)


def decoded(raw):
    """Converts a line from bytes to str, without a byte order mark.

    Raises a ValueError if the line is not UTF-8 text.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"the line must be UTF-8 text; byte {error.start + 1} of the line is not"
        ) from error
    if "\0" in text:
        raise ValueError(
            "the line must be text without NUL characters, which mark binary files; remove the "
            "NUL character"
        )
    if "\r" in text:
        raise ValueError(
            "the line must not contain a carriage return without a line feed; remove the "
            "carriage return"
        )
    return text.removeprefix("\ufeff")


def _plain(value):
    if isinstance(value, np.ndarray):
        return np.round(value.astype(np.float64), DECIMALS).tolist()
    raise TypeError(f"a value of type {type(value).__name__} cannot be written as JSON")
