"""Raises errors about a full or read-only disk with the path that the user gave."""

import contextlib
import errno
import os
import pathlib
import shutil
from collections.abc import Iterator

Path = str | os.PathLike[str]

# System errors for a file that cannot grow. Libraries may raise other errors that contain the
# messages of these errors.
DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
SPARE = 2**20  # bytes that `check_space` adds for the headers and indices of a file format


@contextlib.contextmanager
def naming(path: Path, temporary: pathlib.Path | None = None) -> Iterator[None]:
    """Context manager that replaces the disk errors of its block with an OSError that names `path`.

    An error is replaced if it names a file at or below `temporary`. An error that names no file is
    replaced if it says that the disk is full, or that a quota or the largest file size is exceeded.
    """
    try:
        yield
    except Exception as error:
        number = _number(error, temporary)
        if number is None:
            raise
        raise OSError(number, os.strerror(number), os.fspath(path)) from error


def check_space(path: Path, num_bytes: int) -> None:
    """Raises an OSError if the disk of a file has no room for `num_bytes` more bytes.

    On a full disk, HDF5 prints thousands of lines to stderr. This check prevents that.
    """
    if shutil.disk_usage(pathlib.Path(path).resolve().parent).free < num_bytes + SPARE:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), os.fspath(path))


def _number(error: Exception, temporary: pathlib.Path | None) -> int | None:
    """Returns the `errno` of a disk error that `naming` replaces, or None for any other error."""
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
