"""Finds the numbered folders below a model's base path, as TensorFlow Serving does."""

import os
import pathlib

LARGEST = 2**63 - 1  # a version is an int64


def versions_of(folder: str | os.PathLike) -> list[int]:
    """Lists the versions of an exported model, ascending.

    A version is a folder whose name is a whole number from 0 to 2**63 - 1, with nothing around it
    but leading zeros: `1`, `20`, `007`. Other names, such as the `.3.812.tmp` of an export that is
    being written, are none. Where two names are the same number, it counts once.

    Args:
        folder: the base path. One that does not exist has no versions.

    Example:
    >>> import pathlib, tempfile
    >>> base = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("2", "10", "old", ".3.7.tmp"):
    ...     (base / name).mkdir()
    >>> versions_of(base), next_version(base), version_folder(base).name
    ([2, 10], 11, '10')
    """
    return sorted(_folders(folder))


def next_version(folder: str | os.PathLike) -> int:
    """Returns one more than the newest version; 1 if there is none.

    Raises:
        ValueError: the newest is 2**63 - 1.
    """
    number = max(versions_of(folder), default=0) + 1
    if number > LARGEST:
        raise ValueError(f"{folder} has the version {LARGEST}, after which there is none.")
    return number


def version_folder(folder: str | os.PathLike, version: int | None = None) -> pathlib.Path:
    """Returns the folder of a version.

    Args:
        folder: the base path.
        version: its number; None for the newest.

    Raises:
        ValueError: there is no such version, or none at all.
    """
    found = _folders(folder)
    if not found:
        raise ValueError(
            f"{folder} holds no version of a model: expected folders named 1, 2 ... as "
            "`tfreps export` writes them."
        )
    number = max(found) if version is None else version
    if number not in found:
        known = ", ".join(map(str, sorted(found)))
        raise ValueError(f"{folder} has no version {number}; it has {known}.")
    return found[number]


def _folders(folder):
    """From each version to its folder; of `1` and `01` the shorter name."""
    folder = pathlib.Path(folder)
    if not folder.is_dir():
        return {}
    names = [e.name for e in os.scandir(folder) if e.is_dir() and _is_number(e.name)]
    return {int(name): folder / name for name in sorted(names, key=lambda n: (-len(n), n))}


def _is_number(name):
    return name.isascii() and name.isdigit() and len(name) < 100 and int(name) <= LARGEST
