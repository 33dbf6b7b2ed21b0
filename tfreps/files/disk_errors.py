"""Errors of a full or unwritable disk that name the file that the user gave."""

import contextlib
import errno
import os
import pathlib
from collections.abc import Iterator

Path = str | os.PathLike

# The system's errors for a file that cannot grow; libraries repeat their texts in their own errors.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
SPARE = 2**20  # bytes that `check_space` leaves for what a format adds


@contextlib.contextmanager
def naming(path: Path, temporary: pathlib.Path | None = None) -> Iterator[None]:
    """Makes errors of the disk name the file that the user knows.

    Args:
        path: the file as the user gave it.
        temporary: its temporary name, or a folder, which errors may name instead.

    Raises:
        OSError: with the path as `filename`, for what any library raises because a disk is full
            or cannot be written to; and for an OSError that names the temporary file or none.
    """
    try:
        yield
    except Exception as error:
        number = _number(error, temporary)
        if number is None:
            raise
        raise OSError(number, os.strerror(number), os.fspath(path)) from error


def check_space(path: Path, num_bytes: int) -> None:
    """Raises an OSError that names the file if its disk has no room for so many bytes more.

    HDF5 breaks down on a full disk, with thousands of lines on stderr; this check prevents it.

    Args:
        path: the file, in a folder that exists.
        num_bytes: int. What is going to be written; `SPARE` is added to it.
    """
    disk = os.statvfs(pathlib.Path(path).resolve().parent)
    if disk.f_bavail * disk.f_frsize < num_bytes + SPARE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))


def _number(error: Exception, temporary: pathlib.Path | None) -> int | None:
    """The system's number of an error that is about the file; None for any other."""
    if isinstance(error, BrokenPipeError):
        return None
    name = getattr(error, "filename", None)
    if isinstance(error, OSError) and isinstance(name, str | os.PathLike):
        is_ours = temporary is not None and os.fspath(name).startswith(str(temporary))
        return error.errno if is_ours else None
    if isinstance(error, OSError) and error.errno in DISK_ERRORS:
        return error.errno
    text = str(error)
    return next((number for number in DISK_ERRORS if os.strerror(number) in text), None)
