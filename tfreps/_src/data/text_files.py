"""Finds text files by pattern and reads them whole or in blocks of lines."""

import glob
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tfreps._src.files.gzip_files import GZIP_ERRORS, damaged_gzip, open_unpacked, read_unpacked
from tfreps._src.files.utf8_files import decode_text, decode_utf8, split_lines

Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class TextBlock(NamedTuple):
    """Consecutive lines of one file, the offset of their first byte, and the first line number."""

    text: str
    offset: int
    line: int


def find_files(files: Files) -> list[str]:
    """Returns the files that match a path, a glob pattern, or a list of them.

    Args:
        files: str, path-like object, or list of them. Paths and glob patterns, in which `**`
            matches folders recursively.

    Returns:
        list of str. Paths without duplicates, sorted by name.

    Raises:
        ValueError: If a path or pattern matches no file, a path is a folder, or the list is
            empty.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import find_files
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "a.txt").write_text("a rose")
        ...     len(find_files(folder + "/*.txt"))
        1
    """
    patterns = [files] if isinstance(files, str | os.PathLike) else list(files)
    found: set[str] = set()
    for pattern in [os.fspath(path) for path in patterns]:
        matches = [pattern] if os.path.exists(pattern) else glob.glob(pattern, recursive=True)
        matches = [path for path in matches if not os.path.isdir(path)]
        if not matches:
            what = "is a folder, not a text file" if os.path.isdir(pattern) else "matches no file"
            raise ValueError(f"{pattern!r} {what}. Give a file or a pattern such as 'text/*.txt'.")
        found.update(matches)
    if not found:
        raise ValueError("`files` must contain at least one path or pattern; got an empty list.")
    return sorted(found)


def read_blocks(
    path: str | os.PathLike[str], block_bytes: int = 1 << 20, offset: int = 0, line: int = 1
) -> Iterator[TextBlock]:
    """Reads a UTF-8 text file in blocks of whole lines; `*.gz` files are decompressed.

    A block ends with the line in which it reaches `block_bytes`, so memory use depends on the
    block size and the longest line, not on the file size. Lines end with a line feed. A carriage
    return before a line feed stays in the text, where `str.split` treats it as white space; a
    carriage return elsewhere is an error. A byte order mark at the start of the file is removed. A
    line feed is added to a last line without one.

    Args:
        path: str or path-like object. Path of the file.
        block_bytes: int. Minimum size of a block in bytes, except for the last block. Defaults to
            1 MiB.
        offset: int. Byte at which to start: 0 or the `offset` of an earlier block. A compressed
            file is decompressed up to that byte. Defaults to 0.
        line: int. Number of the line that begins at `offset`: 1 or the `line` of the same block.
            Defaults to 1.

    Yields:
        `TextBlock(text, offset, line)`, a named tuple of str, int and int: the text, the position
        of its first byte in the (decompressed) file and the number of its first line, counted
        from 1.

    Raises:
        ValueError: If the file cannot be read, is not UTF-8 or contains a NUL byte or a carriage
            return without a line feed. The message names the file and, unless the file cannot be
            read, the line.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import read_blocks
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "a.txt")
        ...     _ = path.write_text("a rose\\nis\\na rose\\n")
        ...     [tuple(block) for block in read_blocks(path, block_bytes=8)]
        [('a rose\\nis\\n', 0, 1), ('a rose\\n', 10, 3)]
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
        raise damaged_gzip(f"{path}, line {line} or later", error) from error
    except OSError as error:
        raise ValueError(
            f"Cannot read {path}: {error.strerror or error}. Check the path and its permissions."
        ) from error


def stream_lines(path: str) -> Iterator[str]:
    """Yields the lines of a file, which is read in blocks, without their line feeds."""
    for block in read_blocks(path):
        yield from block.text[:-1].split("\n")


def count_tokens(
    files: Files, forbidden: Iterable[str] = (), progress: Callable[[int, int], None] | None = None
) -> Counter[str]:
    """Counts the tokens in text files, where white space separates tokens.

    Args:
        files: str, path-like object, or list of them. Paths or glob patterns of UTF-8 files;
            `*.gz` files are decompressed.
        forbidden: iterable of str. Sentence boundary tokens, which must not occur in the text.
            Defaults to `()`.
        progress: callable or None. Called after every block with the number of tokens and the
            number of distinct tokens so far. Defaults to `None`.

    Returns:
        `collections.Counter` that maps each token to its number of occurrences.

    Raises:
        ValueError: If no file matches `files`, `read_blocks` rejects a file, or a file contains a
            token of `forbidden`; the message names the file and the line.

    Example:
        >>> import pathlib, tempfile
        >>> from tfreps.data import count_tokens
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = pathlib.Path(folder, "a.txt").write_text("a rose is a rose")
        ...     count_tokens(folder + "/*.txt").most_common(1)
        [('a', 2)]
    """
    counts: Counter[str] = Counter()
    forbidden = list(forbidden)
    total = 0
    for path in find_files(files):
        for block in read_blocks(path):
            tokens = block.text.split()
            counts.update(tokens)
            total += len(tokens)
            for token in forbidden:
                if token in counts:
                    raise ValueError(refusal(path, block, token))
            if progress:
                progress(total, len(counts))
    return counts


def refusal(path: str, block: TextBlock, token: str) -> str:
    """Returns an error message that names the first line with the boundary token `token`."""
    lines = enumerate(block.text.split("\n"), block.line)
    line = next(number for number, text in lines if token in text.split())
    return (
        f"{path}, line {line}: the token {token!r} marks the boundary of a sentence. tfreps adds "
        "this token itself; remove it from the text."
    )


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8", in_lines: bool = True) -> str:
    """Returns the text of a file with its line endings unchanged.

    Raises a ValueError if the file is empty. If `in_lines` is True, a carriage return without a
    line feed is an error, too.
    """
    data = read_unpacked(path)
    if not data:
        raise ValueError(f"{path} is empty; expected a text file with at least one line.")
    return decode_text(data, path, encoding, in_lines)


def read_lines(path: str | os.PathLike[str], encoding: str = "utf-8") -> list[str]:
    """Returns the lines of a file without their line endings; line n is element n - 1."""
    return split_lines(read_text(path, encoding))
