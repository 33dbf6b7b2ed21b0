"""Text files: found by pattern, read in blocks or whole; errors name the file and the line."""

import ast
import codecs
import glob
import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from tfreps.files.decoding import wide_encoding
from tfreps.text import decode_utf8

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
    """Paths behind a path, a glob pattern, or a list of them, sorted by name, each once.

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
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            file.seek(offset)
            while data := file.read(block_bytes):
                if not data.endswith(b"\n"):
                    data += file.readline()
                text = decode_utf8(data, path, line)
                if offset == 0 and text.startswith("\ufeff"):
                    raise ValueError(
                        f"{path}, line 1: starts with a byte order mark, which would become part "
                        "of the first token. Save the file as UTF-8 without it."
                    )
                yield TextBlock(text if text.endswith("\n") else text + "\n", offset, line)
                offset += len(data)
                line += data.count(b"\n")
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ValueError(
            f"{path}, after line {line}: damaged or no gzip file ({error}). Only gzip files may "
            "be called *.gz."
        ) from error
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
    refused, total = list(refused), 0
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
    """The sentence about a sentence boundary in the text, with its line in the block."""
    lines = enumerate(block.text.split("\n"), block.line)
    line = next(number for number, text in lines if token in text.split())
    return (
        f"{path}, line {line}: the token {token!r} marks the boundary of a sentence, which tfreps "
        "adds itself. Remove it from the text."
    )


def read_text(path: str | os.PathLike, encoding: str = "utf-8") -> str:
    """The text of a file, unpacked by gzip if it is called `*.gz`.

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
    path = os.fspath(path)
    data = _read_bytes(path)
    if not data:
        raise ValueError(f"{path} is empty.")
    try:
        is_utf8 = codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")
        if is_utf8:
            return decode_utf8(data.removeprefix(codecs.BOM_UTF8), path)
        if data.startswith(codecs.BOM_UTF8):
            raise ValueError(
                f"{path}, line 1: starts with the byte order mark of UTF-8, but was to be read "
                f"as {encoding}. Read it as utf-8."
            )
        text = data.decode(encoding)
    except LookupError:
        raise ValueError(
            f"{encoding!r} is no text encoding that Python knows. Give another, such as 'utf-8'."
        ) from None
    except UnicodeError as error:
        line = 1 + data.count(b"\n", 0, getattr(error, "start", 0))
        raise ValueError(f"{path}, line {line}: expected {encoding} text ({error}).") from None
    if "\0" in text:
        line = 1 + text.count("\n", 0, text.index("\0"))
        wide = wide_encoding(data)
        hint = f" The file looks like {wide}: read it as that." if wide else ""
        raise ValueError(
            f"{path}, line {line}: expected {encoding} text, found a NUL character.{hint}"
        )
    return text.removeprefix("\ufeff")


def read_lines(path: str | os.PathLike, encoding: str = "utf-8") -> list[str]:
    """The lines of a file, without their ends; line n of the file is element n - 1.

    Only a line feed, or a carriage return and a line feed, ends a line: what Unicode also calls a
    line separator is text, and so is a lone carriage return. The last line may lack its end.

    Raises:
        ValueError: see `read_text`.
    """
    lines = read_text(path, encoding).split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def parse_record(line: str, place: str, format: str = "json") -> dict:
    """The dict that a line holds: a JSON object, or a literal as Python writes it.

    Args:
        line: str.
        place: what errors begin with: file and line.
        format: "json"; or "python" for `ast.literal_eval`, which runs no code; or "either".

    Raises:
        ValueError: the line is no such object, or holds half of a UTF-16 pair.

    Example:
        >>> from tfreps.data.text_files import parse_record
        >>> parse_record('{"text": "good", "label": 1}', "a.json, line 1")
        {'text': 'good', 'label': 1}
        >>> parse_record("{'text': 'good', 'label': 1}", "a.txt, line 1", "python")
        {'text': 'good', 'label': 1}
    """
    tried = {"either": ("json", "python")}.get(format, (format,))
    for number, kind in enumerate(tried, 1):
        try:
            record = _READERS[kind](line)
            break
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
            if number < len(tried):
                continue
            wanted = " or ".join(_WANTED[kind] for kind in tried)
            hint = " It looks like Python: read it as format python." if _is_python(line) else ""
            raise ValueError(
                f"{place}: expected one {wanted} in a line; got {line[:60]!r} ({error})."
                f"{hint if tried == ('json',) else ''}"
            ) from None
    if not isinstance(record, dict):
        raise ValueError(
            f'{place}: expected an object such as {{"text": ..., "label": ...}}; got '
            f"{line[:60]!r}, a {type(record).__name__}."
        )
    return record


_READERS = {"json": json.loads, "python": lambda line: ast.literal_eval(line.strip())}


_WANTED = {
    "json": 'JSON object, such as {"text": ..., "label": ...},',
    "python": "Python dict literal, such as {'text': ..., 'label': ...},",
}


def _is_python(line: str) -> bool:
    try:
        return isinstance(_READERS["python"](line), dict)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def get_field(record: dict, name: str, place: str):
    """The value of a record's field.

    Raises:
        ValueError: there is no such field; names those there are.
    """
    if name not in record:
        raise ValueError(f"{place}: no field {name!r}; there are {', '.join(map(repr, record))}.")
    return record[name]


def check_unicode(text: str, place: str) -> str:
    """The text itself.

    Raises:
        ValueError: it holds half of a UTF-16 pair, which a JSON escape can smuggle in, or NUL.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise ValueError(f"{place}: {half!r} is half a character (a lone surrogate).") from None
    if "\0" in text:
        raise ValueError(f"{place}: a NUL character in the text.")
    return text


def _read_bytes(path: str) -> bytes:
    try:
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
            return file.read()
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise ValueError(
            f"{path}: damaged or no gzip file ({error}). Only gzip files may be called *.gz."
        ) from error
    except OSError as error:
        raise ValueError(f"Cannot read {path}: {error.strerror or error}.") from error
