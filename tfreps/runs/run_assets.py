"""Records and checks the sizes and hashes of a run's vocabulary, tokenizer, tag and label files."""

import hashlib
import os
import pathlib

from tfreps.files.json_files import read_json, write_json

ASSETS = "assets.json"


def record_asset(path: str | os.PathLike) -> None:
    """Writes the size and the SHA-256 of a file to `assets.json` in its folder.

    Args:
        path: str or path-like. Path of the complete file.
    """
    path = pathlib.Path(path)
    record = path.with_name(ASSETS)
    known = read_json(record) if record.exists() else {}
    found = fingerprint(path)
    if known.get(path.name) != found:
        write_json(record, {**known, path.name: found})


def check_assets(folder: str | os.PathLike) -> None:
    """Checks the files of a folder against its `assets.json`, if it has one.

    Args:
        folder: str or path-like. Path of the folder.

    Raises:
        ValueError: If a file is missing, if its size or hash differs from the recorded one, or if
            `assets.json` is not valid.

    Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tags.txt")
    >>> _ = path.write_text("O")
    >>> record_asset(path)
    >>> check_assets(path.parent)
    >>> _ = path.write_text("B-X")
    >>> check_assets(path.parent)
    Traceback (most recent call last):
    ValueError: ...tags.txt is not the file that the run was created with: ...
    """
    record = pathlib.Path(folder, ASSETS)
    for name, expected in (read_json(record) if record.exists() else {}).items():
        path = pathlib.Path(folder, name)
        if name != path.name or not isinstance(expected, dict) or set(expected) != _KEYS:
            raise ValueError(
                f"{record} was not written by a tfreps program: its entry {name!r} is not valid. "
                "Put the original file back."
            )
        if not path.is_file():
            raise ValueError(f"{path} is missing. Put back the file that the run was created with.")
        if (found := fingerprint(path)) != expected:
            raise ValueError(
                f"{path} is not the file that the run was created with: expected "
                f"{_text(expected)}; found {_text(found)}. Put the original file back."
            )


def fingerprint(path: str | os.PathLike) -> dict:
    """Returns the size and the SHA-256 of a file. The file is read in blocks.

    Args:
        path: str or path-like. Path of the file.

    Returns:
        dict with `bytes`, the size as an int, and `sha256`, the hash as hexadecimal digits.

    Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tags.txt")
    >>> _ = path.write_text("O")
    >>> fingerprint(path)
    {'bytes': 1, 'sha256': 'c4694f2e93d5c4e7d51f9c5deb75e6cc8be5e1114178c6a45b6fc2c566a0aa8c'}
    """
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
        return {"bytes": file.tell(), "sha256": digest.hexdigest()}


_KEYS = {"bytes", "sha256"}


def _text(fingerprint: dict) -> str:
    return f"{fingerprint['bytes']} bytes with SHA-256 {fingerprint['sha256']}"
