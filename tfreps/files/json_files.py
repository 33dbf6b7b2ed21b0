"""JSON objects in files: read with errors that name the file, written whole."""

import json
import os
import pathlib

from tfreps.files.output_files import write_text


def as_json(values: dict) -> dict:
    """A copy that JSON can hold: paths as text, NumPy numbers as numbers."""

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


def write_json(path: pathlib.Path, values: dict) -> None:
    """Writes a JSON file whole or not at all."""
    write_text(path, json.dumps(values, indent=2) + "\n")


def read_json(path: pathlib.Path) -> dict:
    """A JSON object from a file; ValueError says which file and where in it."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"Cannot read {path}: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, or not JSON
        raise ValueError(f"{path} is not a JSON file in UTF-8: {error}.") from error
    if not isinstance(values, dict):
        raise ValueError(f"{path}: expected a JSON object {{...}}, got {type(values).__name__}.")
    return values
