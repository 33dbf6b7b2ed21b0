"""Whole text files in any encoding, and their lines, with errors that name file and line."""

import ast
import codecs
import gzip
import json
import os
import zlib

from tfreps.text import decode_utf8
from tfreps.text.decoding import wide_encoding


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
        >>> from tfreps.data.text_lines import read_text
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
        >>> from tfreps.data.text_lines import parse_record
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
