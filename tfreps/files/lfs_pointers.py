"""Detects pointers of git-lfs, which git leaves in place of large files that were not fetched."""

import os

POINTER = b"version https://git-lfs"  # how such a file begins


def refuse_pointer(path: str | os.PathLike, start: bytes | None = None) -> None:
    """Raises a ValueError for a pointer, which says how to fetch the file itself.

    Args:
        path: the file.
        start: the bytes with which it begins, if they are known; None to read them.
    """
    if start is None:
        with open(path, "rb") as file:
            start = file.read(len(POINTER))
    if start.startswith(POINTER):
        raise ValueError(
            f"{path} is a git-lfs pointer, not the file itself: run `git lfs pull` in its folder."
        )
