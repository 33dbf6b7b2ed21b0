"""Finds the version folders of a model in the same way as TensorFlow Serving."""

import os
import pathlib

LARGEST = 2**63 - 1  # TensorFlow Serving stores a version as an int64


def versions_of(folder: str | os.PathLike[str]) -> list[int]:
    """Returns the versions of an exported model in ascending order.

    A version is a folder whose name is an integer from 0 to 2**63 - 1 with optional leading zeros:
    `1`, `20`, `007`. Other names, such as the `.3.812.tmp` of an export that is being written, are
    ignored. Folders with the same number, such as `1` and `01`, count as one version.
    """
    return sorted(_folders(folder))


def next_version(folder: str | os.PathLike[str]) -> int:
    """Returns the newest version plus 1, or 1 if there are no versions."""
    number = max(versions_of(folder), default=0) + 1
    if number > LARGEST:
        raise ValueError(
            f"{folder} already has version {LARGEST}, the largest possible number. Export to "
            "another folder."
        )
    return number


def version_folder(folder: str | os.PathLike[str], version: int | None = None) -> pathlib.Path:
    """Returns the folder of a version, or of the newest one if `version` is `None`."""
    found = _folders(folder)
    if not found:
        raise ValueError(
            f"{folder} contains no version of a model; expected folders named 1, 2, ..., as "
            "written by `tfreps export`. Give the folder of an exported model."
        )
    number = max(found) if version is None else version
    if number not in found:
        known = ", ".join(map(str, sorted(found)))
        raise ValueError(
            f"`version` must be one of the versions in {folder}: {known}; got {number}."
        )
    return found[number]


def _folders(folder: str | os.PathLike[str]) -> dict[int, pathlib.Path]:
    """Returns a dict from version numbers to the folders of these versions.

    If several folders have the same number, such as `1` and `01`, the shortest name is used.
    """
    folder = pathlib.Path(folder)
    if not folder.is_dir():
        return {}
    names = [e.name for e in os.scandir(folder) if e.is_dir() and _is_number(e.name)]
    return {int(name): folder / name for name in sorted(names, key=lambda n: (-len(n), n))}


def _is_number(name: str) -> bool:
    return name.isascii() and name.isdigit() and len(name) < 100 and int(name) <= LARGEST
