"""Opens files that are packed by gzip if they are called *.gz."""

import gzip
import os
import zlib
from typing import BinaryIO

# What Python raises for damaged gzip files. The first of them is an OSError.
GZIP_ERRORS = (gzip.BadGzipFile, zlib.error, EOFError)


def open_unpacked(path: str | os.PathLike) -> BinaryIO:
    """Opens a file for reading bytes; one that is called `*.gz` is unpacked."""
    return gzip.open(path) if os.fspath(path).endswith(".gz") else open(path, "rb")


def read_unpacked(path: str | os.PathLike) -> bytes:
    """Reads all bytes of a file; one that is called `*.gz` is unpacked.

    Raises:
        ValueError: the file cannot be read, or is damaged.
    """
    try:
        with open_unpacked(path) as file:
            return file.read()
    except GZIP_ERRORS as error:
        raise damaged_gzip(path, error) from error
    except OSError as error:
        raise ValueError(f"Cannot read {path}: {error.strerror or error}.") from error


def damaged_gzip(place: str | os.PathLike, error: Exception) -> ValueError:
    """Makes the error to raise in place of one of `GZIP_ERRORS`.

    Args:
        place: the file, and perhaps the line after which it is damaged.
        error: what Python raised.
    """
    return ValueError(
        f"{place}: damaged or no gzip file ({error}). Only gzip files may be called *.gz."
    )
