"""Reads JSON objects with errors that name the line, and writes them atomically."""

import json
import os

from tfreps.files.atomic_files import write_text
from tfreps.files.utf8_files import read_utf8


def read_json(path: str | os.PathLike) -> dict:
    """Reads a JSON object from a UTF-8 file with or without a byte order mark.

    Args:
        path: str or path-like object. Path of the file.

    Returns:
        dict. The object.

    Raises:
        ValueError: If the file cannot be read, is not UTF-8, cannot be parsed as JSON or contains a
            JSON value other than an object, or if a key occurs more than once in an object.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "options.json")
        >>> write_json(path, {"units": 8})
        >>> read_json(path)
        {'units': 8}
    """
    text = read_utf8(path, in_lines=False)
    try:
        values = json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path} is not a JSON file: {error.msg} (line {error.lineno}, column {error.colno})."
        ) from None
    except RecursionError:
        raise ValueError(f"{path} cannot be read as JSON: it is nested too deeply.") from None
    except ValueError as error:  # a key that occurs twice, or a number with thousands of digits
        raise ValueError(f"{path} cannot be read as JSON: {error}.") from None
    if not isinstance(values, dict):
        raise ValueError(
            f"{path}: expected a JSON object {{...}}; got a value of type {type(values).__name__}."
        )
    return values


def write_json(
    path: str | os.PathLike, values: dict, indent: int | None = 2, ensure_ascii: bool = True
) -> None:
    """Writes a JSON file atomically.

    Args:
        path: str or path-like object. Path of the file.
        values: JSON-serializable dict. The object to write. Values of other types must first be
            converted with `as_json`.
        indent: int or None. Number of spaces per level. If `None`, the object is written on one
            line. Defaults to 2.
        ensure_ascii: bool. Whether to escape characters outside ASCII. Defaults to `True`.
    """
    text = json.dumps(values, indent=indent, ensure_ascii=ensure_ascii)
    write_text(path, text + "\n")


def as_json(values: dict) -> dict:
    """Converts a dict for JSON: paths to strings, and NumPy values to numbers and lists.

    Raises:
        ValueError: If a value cannot be converted.

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
        raise TypeError(f"{type(value).__name__} {value!r} cannot be written as JSON")

    try:
        return json.loads(json.dumps(values, default=plain))
    except (TypeError, ValueError) as error:
        raise ValueError(f"Options and results must be JSON-serializable: {error}.") from error


def _object(pairs: list[tuple]) -> dict:
    """Returns a dict of key-value pairs; raises a ValueError if a key occurs more than once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs more than once")
    return found
