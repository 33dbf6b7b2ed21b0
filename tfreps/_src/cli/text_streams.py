"""Reads raw text from a file or standard input, in lines or blocks of lines."""

import os
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO

from tfreps._src.cli.options import Option
from tfreps._src.files.atomic_files import is_stream
from tfreps._src.files.gzip_files import GZIP_ERRORS, damaged_gzip, open_unpacked
from tfreps._src.files.progress import make_progress
from tfreps._src.files.utf8_files import check_line_ends, decode_utf8

SENTENCES = Option(
    str, [], "Raw sentences. Defaults to the lines of --file or of standard input.", many=True,
    metavar="SENTENCE", may_be_empty=True,
)  # fmt: skip
FILE = Option(str, None, "UTF-8 text file with one sentence per line.", metavar="FILE")
# A block ends after this number of characters, so that first results appear early.
BLOCK_CHARACTERS = 1 << 18


def line_limit(most: int) -> Option:
    """Returns the option for the maximum number of bytes in a line, whose default is `most`."""
    about = "Maximum number of bytes in a line. A longer line is an error."
    return Option(int, most, about, at_least=1)


def read_sentences(options, at_once: int) -> Iterator[list[str]]:
    """Yields the sentences to process, in lists of at most `at_once` sentences.

    The sentences are the arguments of the command. If there are none, they are the lines of --file
    or, without --file, of standard input.
    """
    if options.file is not None and options.sentences:
        raise ValueError(
            "--file cannot be combined with sentences on the command line. Omit one of the two."
        )
    if not options.sentences:
        return read_texts("-" if options.file is None else options.file, at_once)
    starts = range(0, len(options.sentences), at_once)
    return iter([options.sentences[start : start + at_once] for start in starts])


def read_texts(
    path: str | os.PathLike[str], at_once: int, max_line_bytes: int | None = None
) -> Iterator[list[str]]:
    """Yields the lines of a file, or of standard input for `"-"`, in blocks (lists of str).

    A block ends when it has `at_once` lines or at least 262,144 characters. If the lines are read
    from a terminal, each line is a separate block. Lines have no line endings and no surrounding
    white space. A file whose name ends in `.gz` is decompressed.
    """
    if os.fspath(path) == "-" and not sys.stdin.closed and sys.stdin.isatty():
        at_once = 1
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
    """Yields the lines of a binary file as str without surrounding white space; closes the file.

    A byte order mark at the start of the file is removed. A line with more than `max_line_bytes`
    bytes, not counting its line ending, is an error, and is not read to its end.
    """
    most = -1 if max_line_bytes is None else max_line_bytes + 2
    try:
        with file:
            for number, line in enumerate(iter(lambda: file.readline(most), b""), 1):
                if max_line_bytes is not None and len(line.rstrip(b"\r\n")) > max_line_bytes:
                    check_line_ends(line[:max_line_bytes].decode("utf-8", "replace"), name, number)
                    raise ValueError(
                        f"{name}, line {number}: the line has more than {max_line_bytes:,} bytes, "
                        "and a line is processed as a whole. Split the line, or increase "
                        "--max-line-bytes."
                    )
                yield decode_utf8(line, name, number).strip()
    except GZIP_ERRORS as error:
        raise damaged_gzip(name, error) from error


def count_lines(path: str | os.PathLike[str]) -> int | None:
    """Returns the number of lines of a file, or `None` for a stream or an unreadable file.

    The lines of a stream, such as standard input or a pipe, can be read only once.
    """
    if not os.path.isfile(path) or is_stream(path):
        return None
    try:
        with open_unpacked(path) as file:
            count, last = 0, b"\n"
            while block := file.read(1 << 20):
                count, last = count + block.count(b"\n"), block[-1:]
    except (*GZIP_ERRORS, OSError):  # `read_texts` reports them
        return None
    return count + (last != b"\n")


def make_text_progress(
    what: str, total: int | None, output: str | os.PathLike[str] | None
) -> Callable[..., None]:
    """Returns a function that shows the progress of a command that writes a result per text.

    It is called like that of `make_progress`. If the results are written to the terminal, nothing
    is shown, because the results themselves show the progress there.
    """
    return make_progress(what, total, shown=output is not None or not sys.stdout.isatty())


def _open(path) -> tuple[BinaryIO, str]:
    path = os.fspath(path)
    if path == "-":
        return sys.stdin.buffer, "standard input"
    try:
        return open_unpacked(path), path
    except OSError as error:
        raise ValueError(
            f"Cannot read {path}: {error.strerror}. Check the path and its permissions."
        ) from error
