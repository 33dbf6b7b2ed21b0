"""Parses one record per line of a text file: a JSON object or a Python dict literal."""

import ast
import json
from collections.abc import Iterable, Iterator
from typing import Any

from tfreps._src.files.utf8_files import check_unicode

# Errors that the readers raise for lines of another format.
_NOT_A_RECORD = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)
_READERS = {"json": json.loads, "python": lambda line: ast.literal_eval(line.strip())}
_WANTED = {
    "json": 'JSON object, such as {"text": ..., "label": ...},',
    "python": "Python dict literal, such as {'text': ..., 'label': ...},",
}


def records(
    path: str, lines: Iterable[str], format: str
) -> Iterator[tuple[dict[str, Any], int, str]]:
    """Yields `(record, line number, "PATH, line NUMBER")` for each line that is not blank."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            place = f"{path}, line {number}"
            yield parse_record(line, place, format), number, place


def parse_record(line: str, place: str, format: str = "json") -> dict[str, Any]:
    """Returns the dict in a line that contains a JSON object or a Python dict literal.

    `format` is `"json"`, `"python"` (parsed by `ast.literal_eval`, which executes no code) or
    `"either"` of the two. Any other line raises a ValueError whose message begins with `place`,
    the file and line number.
    """
    tried = {"either": ("json", "python")}.get(format, (format,))
    record = None
    for number, kind in enumerate(tried, 1):
        try:
            record = _READERS[kind](line)
            break
        except _NOT_A_RECORD as error:
            if number < len(tried):
                continue
            wanted = " or ".join(_WANTED[kind] for kind in tried)
            hint = " If the file has a different format, set `format`."
            if tried == ("json",) and isinstance(_read("python", line), dict):
                hint = " It looks like a Python dict; set `format` to python."
            raise ValueError(
                f"{place}: expected one {wanted} per line; got {line[:60]!r} ({error}).{hint}"
            ) from None
    if not isinstance(record, dict):
        raise ValueError(
            f'{place}: expected a record with named fields, such as {{"text": ..., "label": '
            f"...}}; got {line[:60]!r} of type {type(record).__name__}. Correct the line, or set "
            "`format` to the format of the file."
        )
    return record


def record_format(line: str) -> str | None:
    """Returns `"json"` or `"python"` if a line is a record that contains a list, else `None`."""
    if not line.lstrip().startswith("{"):
        return None
    for kind in _READERS:
        record = _read(kind, line)
        if isinstance(record, dict) and any(isinstance(v, list | tuple) for v in record.values()):
            return kind
    return None


def get_field(record: dict[str, Any], name: str | int, place: str) -> Any:
    """Returns the value of a field of a record; errors begin with `place` and list the fields."""
    if name not in record:
        known = f"its fields are {', '.join(map(repr, record))}" if record else "it is empty"
        raise ValueError(f"{place}: the record has no field {name!r}; {known}.")
    return record[name]


def get_text(record: dict[str, Any], name: str | int, place: str) -> str:
    """Returns the value of a field.

    Raises:
        ValueError: If the value is not a string, or contains a lone surrogate or a NUL character.
    """
    text = get_field(record, name, place)
    if not isinstance(text, str):
        raise ValueError(
            f"{place}: expected a string in field {name!r}; got {str(text)[:40]!r} of type "
            f"{type(text).__name__}."
        )
    return check_unicode(text, place)


def _read(kind: str, line: str) -> Any:
    """Returns the value that a line contains in the format `kind`, or `None` if it is invalid."""
    try:
        return _READERS[kind](line)
    except _NOT_A_RECORD:
        return None
