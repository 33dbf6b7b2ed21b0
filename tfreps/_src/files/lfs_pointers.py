"""Detects git-lfs pointers, which replace large files that were not downloaded."""

import os

POINTER = b"version https://git-lfs"  # first bytes of a pointer


def refuse_pointer(path: str | os.PathLike[str], start: bytes | None = None) -> None:
    """Raises a ValueError if a file is a git-lfs pointer.

    `start` are the first bytes of the file. If `None` (the default), they are read from the file.
    """
    if start is None:
        with open(path, "rb") as file:
            start = file.read(len(POINTER))
    if start.startswith(POINTER):
        raise ValueError(
            f"{path} is a git-lfs pointer, not the file itself: run `git lfs pull` in its folder."
        )
