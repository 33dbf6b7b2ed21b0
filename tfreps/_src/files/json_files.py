"""Reads JSON objects with errors that name the line, and writes them atomically."""

import json
import os
from collections.abc import Mapping
from typing import Any

from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.utf8_files import read_utf8


def read_json(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Returns the object in a JSON file; raises a ValueError if a key occurs twice."""
    values = _values(path)
    if not isinstance(values, dict):
        raise ValueError(
            f'{path}: expected a JSON object, such as {{"key": "value"}}; got '
            f"{str(values)[:60]}. Correct the file, or restore the original."
        )
    return values


def read_json_list(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Returns the list of objects in a JSON file; raises a ValueError if a key occurs twice."""
    values = _values(path)
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise ValueError(
            f'{path}: expected a list of JSON objects, such as [{{"key": "value"}}]; got '
            f"{str(values)[:60]}. Correct the file, or restore the original."
        )
    return values


def _values(path: str | os.PathLike[str]) -> Any:
    text = read_utf8(path, in_lines=False)
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{path} is not a JSON file: {error.msg} (line {error.lineno}, column "
            f"{error.colno}). Correct this line, or restore the original file."
        ) from None
    except RecursionError:
        raise ValueError(
            f"{path} cannot be read as JSON: it is nested too deeply. Restore the original file."
        ) from None
    except ValueError as error:
        # Raised for a key that occurs twice, and for a number with thousands of digits.
        raise ValueError(
            f"{path} cannot be read as JSON: {error}. Correct the file, or restore the original."
        ) from None


def write_json(
    path: str | os.PathLike[str],
    values: Mapping[str, Any],
    indent: int | None = 2,
    ensure_ascii: bool = True,
) -> None:
    """Writes a JSON file atomically. If `indent` is `None`, the file has one line."""
    text = json.dumps(dict(values), indent=indent, ensure_ascii=ensure_ascii)
    write_text(path, text + "\n")


def as_json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a copy of a dict that can be written as JSON.

    Paths are converted to strings, and NumPy values to numbers and lists.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if hasattr(value, "tolist"):  # the value is a NumPy array or scalar
            return value.tolist()
        raise TypeError(f"{type(value).__name__} {value!r} cannot be written as JSON")

    try:
        return json.loads(json.dumps(dict(values), default=plain))
    except (TypeError, ValueError) as error:
        raise ValueError(
            "Options and results must contain only values that JSON can represent, but "
            f"{error}. Convert this value to a number, string, list or dict."
        ) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Converts the (key, value) pairs of a JSON object to a dict.

    Raises a ValueError if a key occurs more than once.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs more than once")
    return found
