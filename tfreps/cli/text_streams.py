"""Raw text from a file or standard input, line by line or in blocks of lines."""

import os
import sys
from collections.abc import Iterator
from typing import BinaryIO

from tfreps.files.gzip_files import GZIP_ERRORS, damaged_gzip, open_unpacked
from tfreps.files.utf8_files import decode_utf8

BLOCK_CHARACTERS = 1 << 18  # with so many a block ends, so that the first answers come soon


def read_texts(
    path: str | os.PathLike, at_once: int, max_line_bytes: int | None = None
) -> Iterator[list[str]]:
    """The lines of a file in blocks; those of standard input for `"-"`.

    Lines that are typed are answered one by one: where `"-"` is a terminal, each is a block of
    its own.

    Args:
        path: the file, unpacked by gzip if it is called `*.gz`; or `"-"`.
        at_once: int. Lines of a block at most.
        max_line_bytes: int or None. As of `text_lines`.

    Yields:
        list of str, without line ends and white space around them; empty lines stay.

    Raises:
        ValueError: what `text_lines` raises; a file that cannot be read.
    """
    at_once = 1 if os.fspath(path) == "-" and sys.stdin.isatty() else at_once
    block: list[str] = []
    size = 0
    for line in text_lines(*_open(path), max_line_bytes):
        block.append(line)
        size += len(line)
        if len(block) == at_once or size >= BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block


def text_lines(file: BinaryIO, name: str, max_line_bytes: int | None = None) -> Iterator[str]:
    """The lines of a binary file as text, without white space around them.

    Args:
        file: open for reading; closed at the end.
        name: how errors call it.
        max_line_bytes: int or None. Bytes of a line at most, its end not counted. No more
            is read before the error.

    Raises:
        ValueError: a line that is too long, a byte order mark, a NUL byte, or bytes that are no
            UTF-8, with the line; damaged gzip.
    """
    with file:
        for number, line in enumerate(_unpacked(file, name, max_line_bytes), 1):
            if max_line_bytes is not None and len(line.rstrip(b"\r\n")) > max_line_bytes:
                raise ValueError(
                    f"{name}, line {number}: the line has more than {max_line_bytes:,} bytes, and "
                    "all of it is computed at once. Break it into lines, or raise --max-line-bytes."
                )
            yield decode_utf8(line, name, number).strip()


def _unpacked(file: BinaryIO, name: str, max_line_bytes: int | None) -> Iterator[bytes]:
    """The lines of a file; what gzip says of damaged ones becomes a ValueError."""
    try:
        most = -1 if max_line_bytes is None else max_line_bytes + 2
        yield from iter(lambda: file.readline(most), b"")
    except GZIP_ERRORS as error:
        raise damaged_gzip(name, error) from error


def _open(path) -> tuple[BinaryIO, str]:
    path = os.fspath(path)
    if path == "-":
        return sys.stdin.buffer, "standard input"
    try:
        return open_unpacked(path), path
    except OSError as error:
        raise ValueError(f"Cannot read {path}: {error.strerror}.") from error
