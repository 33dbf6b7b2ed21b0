"""Reads JSON objects with errors that name file and line; writes them whole or not at all."""

import json
import os

from tfreps.files.atomic_files import write_text
from tfreps.files.utf8_files import read_utf8


def read_json(path: str | os.PathLike) -> dict:
    """Reads the JSON object in a file in UTF-8, with or without a byte order mark.

    Raises:
        ValueError: the file cannot be read, is not UTF-8, not JSON, or another JSON value than an
            object; an object in it has a key twice; or what `read_utf8` raises.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "options.json")
        >>> write_json(path, {"units": 8})
        >>> read_json(path)
        {'units': 8}
    """
    text = read_utf8(path, skip_mark=True)
    try:
        values = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path} is not a JSON file: {error.msg} in line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise ValueError(
            f"{path} is not a JSON file that can be read: it is nested too deeply."
        ) from None
    except ValueError as error:  # a key that comes twice, or a number of thousands of digits
        raise ValueError(f"{path} is not a JSON file that can be read: {error}.") from None
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a JSON object {{...}}; got a {type(values).__name__}.")
    return values


def write_json(
    path: str | os.PathLike, values: dict, indent: int | None = 2, ensure_ascii: bool = True
) -> None:
    """Writes a JSON file, whole or not at all.

    Args:
        path: the file.
        values: dict of JSON types; see `as_json`.
        indent: as of `json.dumps`.
        ensure_ascii: as of `json.dumps`.
    """
    text = json.dumps(values, indent=indent, ensure_ascii=ensure_ascii)
    write_text(path, text + "\n")


def as_json(values: dict) -> dict:
    """Makes a copy of JSON types: paths become text, NumPy numbers and arrays become lists.

    Raises:
        ValueError: a value has no place in a JSON file.

    Example:
        >>> import pathlib
        >>> as_json({"path": pathlib.Path("a.txt"), "filters": ((1, 8),)})
        {'path': 'a.txt', 'filters': [[1, 8]]}
    """

    def plain(value):
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if hasattr(value, "tolist"):  # NumPy
            return value.tolist()
        raise TypeError(f"{type(value).__name__} {value!r} has no place in a JSON file")

    try:
        return json.loads(json.dumps(values, default=plain))
    except (TypeError, ValueError) as error:
        raise ValueError(f"Options and results must be of JSON types: {error}.") from error


def _object(pairs: list[tuple]) -> dict:
    """The dict of an object's pairs; a key that comes twice is an error."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{twice!r} comes twice, and every key must come once")
    return found
