"""Detects git-lfs pointers, which replace large files that were not downloaded."""

import os

POINTER = b"version https://git-lfs"  # first bytes of a pointer


def refuse_pointer(path: str | os.PathLike[str], start: bytes | None = None) -> None:
    """Raises a ValueError if a file, or its first bytes `start`, is a git-lfs pointer."""
    if start is None:
        with open(path, "rb") as file:
            start = file.read(len(POINTER))
    if start.startswith(POINTER):
        raise ValueError(
            f"{path} is a git-lfs pointer, not the file itself: run `git lfs pull` in its folder."
        )
