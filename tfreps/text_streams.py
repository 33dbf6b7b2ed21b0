"""Raw text in from a file or standard input, answers out to a file or standard output."""

import codecs
import contextlib
import gzip
import os
import pathlib
import sys
import zlib
from collections.abc import Iterator
from typing import BinaryIO


def read_texts(path: str | os.PathLike, at_once: int) -> Iterator[list[str]]:
    """The lines of a file in blocks; those of standard input for `"-"`.

    Lines that are typed are answered one by one: where `"-"` is a terminal, each is a block of
    its own.

    Args:
        path: the file, unpacked by gzip if it is called `*.gz`; or `"-"`.
        at_once: int. Lines of a block.

    Yields:
        list of str, without line ends and white space around them; empty lines stay.

    Raises:
        ValueError: what `text_lines` raises; a file that cannot be read.
    """
    at_once = 1 if os.fspath(path) == "-" and sys.stdin.isatty() else at_once
    block: list[str] = []
    for line in text_lines(*_open(path)):
        block.append(line)
        if len(block) == at_once:
            yield block
            block = []
    if block:
        yield block


def text_lines(file: BinaryIO, name: str) -> Iterator[str]:
    """The lines of a binary file as text, without white space around them.

    Args:
        file: open for reading; closed at the end.
        name: how errors call it.

    Raises:
        ValueError: a byte order mark, a NUL byte, or bytes that are no UTF-8, with the line;
            damaged gzip.
    """
    with file:
        for number, line in enumerate(_unpacked(file, name), 1):
            if number == 1 and line.startswith(codecs.BOM_UTF8):
                raise ValueError(
                    f"{name}, line 1: starts with a byte order mark, which would become part of "
                    "the first token. Save the text as UTF-8 without it."
                )
            if b"\0" in line:
                raise ValueError(
                    f"{name}, line {number}: expected UTF-8 text, found a NUL byte: no text."
                )
            try:
                yield line.decode("utf-8").strip()
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{name}, line {number}: expected UTF-8 text, found the byte "
                    f"0x{line[error.start]:02x}. Convert it first, for example from Latin-1: "
                    "iconv -f LATIN1 -t UTF-8."
                ) from None


@contextlib.contextmanager
def written_whole(path: str | os.PathLike | None):
    """A text file to write to, which appears whole or not at all; standard output for None.

    Behind a symbolic link its target is written. Devices and pipes are written to as they are.

    Raises:
        ValueError: the path is a folder, or in none.

    Example:
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "answers.txt")
    >>> with written_whole(path) as file:
    ...     _ = file.write("yes")
    >>> path.read_text()
    'yes'
    """
    if path is None:
        yield sys.stdout
        return
    path = pathlib.Path(path)
    if path.is_dir() or not path.parent.is_dir():
        what = "it is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise ValueError(f"Cannot write to {path}: {what}.")
    if path.exists() and not path.is_file():
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            yield file
        return
    path = path.resolve() if path.is_symlink() else path
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        with open(temporary, "w", encoding="utf-8", newline="\n") as file:
            yield file
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _unpacked(file: BinaryIO, name: str) -> Iterator[bytes]:
    """The lines of a file; what gzip says of damaged ones becomes a ValueError."""
    try:
        yield from file
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ValueError(
            f"{name}: damaged or no gzip file ({error}). Only gzip files may be called *.gz."
        ) from error


def _open(path) -> tuple[BinaryIO, str]:
    path = os.fspath(path)
    if path == "-":
        return sys.stdin.buffer, "standard input"
    try:
        return (gzip.open(path) if path.endswith(".gz") else open(path, "rb")), path
    except OSError as error:
        raise ValueError(f"Cannot read {path}: {error.strerror}.") from error
