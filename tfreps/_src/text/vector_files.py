"""Reads word vectors row by row from text or binary files, which may be compressed."""

import collections
import gzip
import io
import itertools
import logging
import os
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from tfreps._src.files.gzip_files import GZIP_ERRORS, damaged_gzip, open_unpacked
from tfreps._src.files.utf8_files import check_line_ends, without_mark
from tfreps._src.text.array_vectors import array_rows

FileFormat = Literal["text", "binary"]
File = gzip.GzipFile | io.BufferedReader

LARGEST_DIMENSION = 65536  # a header that declares a larger one is wrong or malicious
LONGEST_LINE = 1 << 22
LONGEST_TOKEN = 1 << 16
CHUNK = 1 << 20
FASTTEXT_MAGIC = (793712314).to_bytes(4, "little")  # first bytes of a fastText model file
FORMATS: tuple[FileFormat, ...] = ("text", "binary")


class VectorRow(NamedTuple):
    """Row of a word vector file: a token, its vector, and their location in the file.

    `numbers` contains the vector as it is stored: `dimension` decimal numbers separated by white
    space or, if `binary` is `True`, little-endian float32 values. `place` is the file and the line
    or row, for error messages.
    """

    token: bytes
    numbers: bytes
    dimension: int
    place: str
    binary: bool


def vector_rows(path: str, file_format: FileFormat | None = None) -> Iterator[VectorRow]:
    """Yields the rows of a file of word vectors without reading it whole.

    `path` and `file_format` are arguments of `WordVectors.read`. The header of a text file gives
    the dimension. Without a header, it is the number of numbers in most of the first rows.
    Rows of a text file without a token, with fewer numbers, or with at least two more numbers are
    skipped, and one warning gives the number of these rows. Blank lines are skipped.
    """
    if file_format not in (*FORMATS, None):
        known = " or ".join(map(repr, FORMATS))
        raise ValueError(f"`file_format` must be {known}; got {file_format!r}.")
    if path.endswith(".npy"):
        yield from _array_rows(path)
        return
    if path.endswith(".parquet"):
        raise ValueError(
            f"{path}: expected a file of word vectors; got a Parquet file, from which only the "
            "words of a NumPy file are read. Give the NumPy file (*.npy) of the vectors."
        )
    if file_format is None:
        file_format = "binary" if path.removesuffix(".gz").endswith(".bin") else "text"
    try:
        with open_unpacked(path) as file:
            if file_format == "text":
                yield from _text_rows(file, path)
            else:
                yield from _binary_rows(file, path)
    except GZIP_ERRORS as error:
        raise damaged_gzip(path, error) from error
    except OSError as error:
        raise ValueError(
            f"Cannot read the word vectors in {path}: {error.strerror or error}. Check the path "
            "and its permissions."
        ) from error


def _array_rows(path: str) -> Iterator[VectorRow]:
    """Yields the rows of a NumPy file as `VectorRow`."""
    try:
        for number, row in enumerate(array_rows(path, LARGEST_DIMENSION), 1):
            yield VectorRow(*row, f"{path}, row {number}", binary=True)
    except OSError as error:
        raise ValueError(
            f"Cannot read the word vectors in {path}: {error.strerror or error}. Check the path "
            "and its permissions."
        ) from error


def _text_rows(file: File, path: str) -> Iterator[VectorRow]:
    """Yields the rows of a text file, each a token and its numbers, separated by white space."""
    first = _first_line(file, path)
    header = _header(first, f"{path}, line 1")
    lines = itertools.chain(
        [] if header else [first], iter(lambda: file.readline(LONGEST_LINE), b"")
    )
    rows = _filled(lines, path, 2 if header else 1)
    sample = _sample(rows)
    dimension = _dimension(sample, header)
    num_rows = num_skipped = 0
    first_skipped = "", ""  # place and content of the first row that was skipped
    for place, data in itertools.chain(sample, rows):
        num_rows += 1
        parts = _split(data, dimension)
        if parts is not None:
            yield VectorRow(*parts, dimension, place, binary=False)
            continue
        if not num_skipped:
            first_skipped = place, _shown(data)
        num_skipped += 1
    if header and num_rows != header[0]:
        raise ValueError(
            f"{path}, line 1: the header declares {header[0]} vectors, but {num_rows} follow. The "
            "file was truncated or concatenated; download it again, or correct its first line."
        )
    if num_skipped:
        logging.getLogger(__name__).warning(
            "%s: skipped %d of %d rows, of which this is the first: %s. Expected a token and %d "
            "numbers.",
            *(first_skipped[0], num_skipped, num_rows, first_skipped[1], dimension),
        )


def _filled(lines: Iterable[bytes], path: str, first_line: int) -> Iterator[tuple[str, bytes]]:
    """Yields tuples `(place, bytes)` for the lines that are not blank.

    `place` is the file and the line number, for error messages.
    """
    for number, data in enumerate(lines, first_line):
        place = f"{path}, line {number}"
        if len(data) == LONGEST_LINE:
            raise ValueError(f"{place}: the line has {LONGEST_LINE} bytes or more. {_NOT_TEXT}")
        if data.strip():
            yield place, data


def _sample(rows: Iterator[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """Takes the first rows from an iterator, about `CHUNK` bytes, and returns them as a list."""
    sample, size = [], 0
    while size < CHUNK and (row := next(rows, None)):
        sample.append(row)
        size += len(row[1])
    return sample


def _first_line(file: File, path: str) -> bytes:
    """Returns the first line of a file; raises a ValueError if it does not look like text."""
    first = without_mark(file.readline(LONGEST_LINE))
    if not first:
        raise ValueError(
            f"{path}: the file is empty. Expected a token and its vector on every line."
        )
    if first.startswith(FASTTEXT_MAGIC):
        raise ValueError(f"{path}: {_FASTTEXT}")
    if first.startswith(b"\x1f\x8b"):
        raise ValueError(
            f"{path}: the file is compressed with gzip. Rename it to *.gz to have it decompressed."
        )
    if b"\0" in first:
        raise ValueError(f"{path}, line 1: expected text; found a NUL byte. {_NOT_TEXT}")
    check_line_ends(first.decode("utf-8", "replace"), path)
    return first


def _header(first: bytes, place: str) -> tuple[int, int] | None:
    """Returns the number of rows and the dimension, or `None` if `first` is not a header."""
    fields = first.split()
    if len(fields) != 2 or not all(field.lstrip(b"-").isdigit() for field in fields):
        return None
    if max(map(len, fields)) > 18:
        raise ValueError(
            f"{place}: the numbers in the header must have at most 18 digits; got "
            f"{first[:60]!r}. {_HEADER}"
        )
    count, dimension = map(int, fields)
    if count < 1 or not 1 <= dimension <= LARGEST_DIMENSION:
        raise ValueError(
            f"{place}: the header declares {count} vectors of dimension {dimension}. {_HEADER}"
        )
    return count, dimension


def _dimension(sample: list[tuple[str, bytes]], header: tuple[int, int] | None) -> int:
    """Returns the dimension that the header declares or, without a header, that most rows have."""
    widths = [_num_numbers(data) for _, data in sample]
    counts = collections.Counter(widths)
    usual = max(
        counts, key=lambda width: counts[width], default=0
    )  # the first of several widths that are equally frequent
    if header:
        if counts[header[1]] < counts[usual]:
            place, data = sample[widths.index(usual)]
            raise ValueError(
                f"{place}: expected a token and {header[1]} numbers, as in the header; most rows "
                f"end in {usual} numbers, such as {_shown(data)}. {_HEADER if usual else _NOT_TEXT}"
            )
        return header[1]
    if sample and not 1 <= usual <= LARGEST_DIMENSION:
        place, data = sample[widths.index(usual)]
        raise ValueError(
            f"{place}: expected a token and a vector of 1 to {LARGEST_DIMENSION} numbers; got "
            f"{_shown(data)}. {_NOT_TEXT}"
        )
    return usual


def _num_numbers(data: bytes) -> int:
    """Returns the number of consecutive numbers at the end of a row, without its first field."""
    fields = data.split()[1:]
    others = (count for count, field in enumerate(reversed(fields)) if not _is_number(field))
    return next(others, len(fields))


def _split(data: bytes, dimension: int) -> tuple[bytes, bytes] | None:
    """Returns the token and the numbers of a row as two bytes objects.

    Returns `None` if the row does not have `dimension` numbers.
    """
    row = data.rstrip()
    if row.count(b" ") == dimension and b"\t" not in row:
        token, _, numbers = row.partition(b" ")
        if token and b"  " not in numbers and _is_number(numbers.split(b" ", 1)[0]):
            return token, numbers
    fields = row.rsplit(None, dimension)
    if len(fields) <= dimension or not _is_number(fields[1]) or _num_numbers(fields[0]) > 1:
        return None
    return fields[0], b" ".join(fields[1:])


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _shown(data: bytes) -> str:
    return repr(data[:60].decode("utf-8", "replace").strip())


def _binary_rows(file: File, path: str) -> Iterator[VectorRow]:
    """Yields the rows of a binary word2vec file: token, space, numbers, optional line feed."""
    first = file.readline(256)
    if first.startswith(FASTTEXT_MAGIC):
        raise ValueError(f"{path}: {_FASTTEXT}")
    if not first:
        raise ValueError(
            f"{path}: the file is empty. Expected a binary word2vec file, which starts with the "
            "number of vectors and their dimension."
        )
    header = _header(first, f"{path}, line 1") if first.endswith(b"\n") else None
    if header is None:
        raise ValueError(
            f"{path}, line 1: expected the header of a binary word2vec file (the number of "
            "vectors and their dimension). If the file is text, rename it to *.txt."
        )
    count, dimension = header
    _check_size(path, count, dimension)
    buffer = b""
    position = 0
    size = 4 * dimension
    for row in range(1, count + 1):
        place = f"{path}, row {row}"
        space = buffer.find(b" ", position)
        while space < 0 or len(buffer) < space + 1 + size:
            if space < 0 and len(buffer) - position > LONGEST_TOKEN:
                raise ValueError(
                    f"{place}: expected a token, a space and the vector; found no space after "
                    f"the token. {_MISREAD}"
                )
            chunk = file.read(max(CHUNK, size))
            if not chunk:
                raise ValueError(
                    f"{place}: the file ends here, but its header declares {count} vectors of "
                    f"dimension {dimension}. The file was truncated, or the header is wrong. "
                    "Download the file again."
                )
            buffer = buffer[position:] + chunk
            position = 0
            space = buffer.find(b" ")
        token = buffer[position:space].lstrip(b"\n")
        position = space + 1 + size
        yield VectorRow(token, buffer[space + 1 : position], dimension, place, binary=True)
    rest = buffer[position:] + file.read(2)
    if rest.strip(b"\n"):
        raise ValueError(
            f"{path}: the file continues after the {count} vectors of dimension {dimension} that "
            f"its header declares. {_MISREAD}"
        )


def _check_size(path: str, count: int, dimension: int) -> None:
    """Raises a ValueError if an uncompressed file is smaller than its header implies."""
    needed = count * (4 * dimension + 1)
    if not path.endswith(".gz") and needed > os.path.getsize(path):
        raise ValueError(
            f"{path}: the file has {os.path.getsize(path)} bytes, too few for the {count} vectors "
            f"of dimension {dimension} that its header declares. The file was truncated, or the "
            "header is wrong. Download the file again."
        )


_HEADER = (
    "The header must consist of the number of vectors, at least 1, and their dimension, from 1 to "
    f"{LARGEST_DIMENSION}."
)
_NOT_TEXT = (
    "The file is not a text file of word vectors. If it is a binary word2vec file, rename it to "
    "*.bin."
)
_MISREAD = "The header is wrong, or the file is not a binary word2vec file."
_FASTTEXT = (
    "expected word vectors; got a fastText model file, which also contains n-grams. Use the .vec "
    "file that comes with it."
)
