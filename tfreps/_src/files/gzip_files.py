"""Opens and reads files, and decompresses those named *.gz."""

import gzip
import io
import os
import zlib

# Errors that Python raises for damaged gzip files. As `BadGzipFile` is an OSError, these errors
# must be caught before OSError.
GZIP_ERRORS = (gzip.BadGzipFile, zlib.error, EOFError)


def open_unpacked(path: str | os.PathLike[str]) -> gzip.GzipFile | io.BufferedReader:
    """Returns a file, opened for reading bytes; a file named `*.gz` is decompressed."""
    return gzip.open(path) if os.fspath(path).endswith(".gz") else open(path, "rb")


def read_unpacked(path: str | os.PathLike[str]) -> bytes:
    """Returns all bytes of a file; a file named `*.gz` is decompressed."""
    try:
        with open_unpacked(path) as file:
            return file.read()
    except GZIP_ERRORS as error:
        raise damaged_gzip(path, error) from error
    except OSError as error:
        raise ValueError(
            f"Cannot read {path}: {error.strerror or error}. Check the path and its permissions."
        ) from error


def damaged_gzip(location: str | os.PathLike[str], error: Exception) -> ValueError:
    """Returns the ValueError that replaces one of `GZIP_ERRORS`; `location` is a file or a line."""
    return ValueError(
        f"{location}: the file is damaged or not a gzip file ({error}). Only gzip files may be "
        "named *.gz."
    )
