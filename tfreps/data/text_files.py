"""Finds text files by pattern and reads them in blocks or whole; errors name file and line."""

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tfreps.files.gzip_files import GZIP_ERRORS, damaged_gzip, open_unpacked, read_unpacked
from tfreps.files.utf8_files import decode_text, decode_utf8

Files = str | os.PathLike | Iterable[str | os.PathLike]


class TextBlock(NamedTuple):
    """Consecutive lines of one file.

    `text` ends with a line feed. `offset` is where it starts, in bytes of the (unpacked) file,
    `line` the number of its first line, counted from 1.
    """

    text: str
    offset: int
    line: int


def find_files(files: Files) -> list[str]:
    """Lists the files of a path, a glob pattern, or a list of them: sorted by name, each once.

    Raises:
        ValueError: a path or pattern that matches no file.
    """
    patterns = [files] if isinstance(files, str | os.PathLike) else list(files)
    found: set[str] = set()
    for pattern in map(os.fspath, patterns):
        matches = [pattern] if os.path.exists(pattern) else glob.glob(pattern, recursive=True)
        matches = [path for path in matches if not os.path.isdir(path)]
        if not matches:
            what = "is a folder, not a text file" if os.path.isdir(pattern) else "matches no file"
            raise ValueError(f"{pattern!r} {what}. Give a file or a pattern such as 'text/*.txt'.")
        found.update(matches)
    if not found:
        raise ValueError("No text files were given; give at least one path or pattern.")
    return sorted(found)


def read_blocks(
    path: str, block_bytes: int = 1 << 20, offset: int = 0, line: int = 1
) -> Iterator[TextBlock]:
    """Reads a text file, packed by gzip if it is called `*.gz`, in blocks of whole lines.

    A block ends with the line in which `block_bytes` are reached, so that memory depends on the
    block and on the longest line, not on the file. Lines end with a line feed; a carriage return
    before it is left in the text, where `str.split` takes it for white space.

    Args:
        path: the file.
        block_bytes: bytes of text per block.
        offset: where to begin, the `offset` of an earlier block. Plain files seek to it, packed
            ones are unpacked up to it.
        line: the `line` of that block.

    Yields:
        `TextBlock`s.

    Raises:
        ValueError: the file cannot be read, is not UTF-8, or starts with a byte order mark; names
            the file and the line.
    """
    try:
        with open_unpacked(path) as file:
            file.seek(offset)
            while data := file.read(block_bytes):
                if not data.endswith(b"\n"):
                    data += file.readline()
                text = decode_utf8(data, path, line)
                if not text.endswith("\n"):
                    text += "\n"
                yield TextBlock(text, offset, line)
                offset += len(data)
                line += data.count(b"\n")
    except GZIP_ERRORS as error:
        raise damaged_gzip(f"{path}, after line {line}", error) from error
    except OSError as error:
        raise ValueError(f"Cannot read {path}: {error.strerror or error}.") from error


def count_tokens(
    files: Files, refused: Iterable[str] = (), progress: Callable[[int, int], None] | None = None
) -> Counter[str]:
    """Counts the tokens of text files, split at white space.

    Args:
        files: path, pattern or list of them.
        refused: tokens that must not occur.
        progress: called after every block with the tokens counted so far and the number of
            distinct ones.

    Returns:
        Counter, token -> number of occurrences.

    Raises:
        ValueError: unreadable files; a refused token, naming file and line.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import count_tokens
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "a.txt").write_text("a rose is a rose")
        ...     count_tokens(folder + "/*.txt").most_common(1)
        [('a', 2)]
    """
    counts: Counter[str] = Counter()
    refused = list(refused)
    total = 0
    for path in find_files(files):
        for block in read_blocks(path):
            tokens = block.text.split()
            counts.update(tokens)
            total += len(tokens)
            for token in refused:
                if token in counts:
                    raise ValueError(refusal(path, block, token))
            if progress:
                progress(total, len(counts))
    return counts


def refusal(path: str, block: TextBlock, token: str) -> str:
    """Writes the error about a sentence boundary in the text, with its line."""
    lines = enumerate(block.text.split("\n"), block.line)
    line = next(number for number, text in lines if token in text.split())
    return (
        f"{path}, line {line}: the token {token!r} marks the boundary of a sentence, which tfreps "
        "adds itself. Remove it from the text."
    )


def read_text(path: str | os.PathLike, encoding: str = "utf-8") -> str:
    """Reads the text of a file, unpacked by gzip if it is called `*.gz`.

    A byte order mark at the start belongs to the encoding and is no part of the text. Line ends
    stay as they are.

    Args:
        path: the file.
        encoding: what Python's `bytes.decode` knows: "utf-8", "latin-1", "cp1252", "utf-16" ...

    Raises:
        ValueError: the file cannot be read, is empty, binary or in another encoding.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data.text_files import read_text
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.txt")
        ...     _ = path.write_bytes(b"caf\\xe9")
        ...     read_text(path, encoding="latin-1")
        'café'
    """
    data = read_unpacked(path)
    if not data:
        raise ValueError(f"{path} is empty.")
    return decode_text(data, path, encoding)


def read_lines(path: str | os.PathLike, encoding: str = "utf-8") -> list[str]:
    """Reads the lines of a file, without their ends; line n of the file is element n - 1.

    Only a line feed, or a carriage return and a line feed, ends a line: what Unicode also calls a
    line separator is text, and so is a lone carriage return. The last line may lack its end.

    Raises:
        ValueError: see `read_text`.
    """
    lines = read_text(path, encoding).split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
