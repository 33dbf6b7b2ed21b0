"""Detects git-lfs pointers, which replace large files that were not downloaded."""

import os

POINTER = b"version https://git-lfs"  # first bytes of such a file


def refuse_pointer(path: str | os.PathLike, start: bytes | None = None) -> None:
    """Checks that a file is not a git-lfs pointer.

    Args:
        path: str or path-like object. Path of the file.
        start: bytes or None. First bytes of the file. If `None`, they are read from the file.
            Defaults to `None`.

    Raises:
        ValueError: If the file is a git-lfs pointer.
    """
    if start is None:
        with open(path, "rb") as file:
            start = file.read(len(POINTER))
    if start.startswith(POINTER):
        raise ValueError(
            f"{path} is a git-lfs pointer, not the file itself: run `git lfs pull` in its folder."
        )
