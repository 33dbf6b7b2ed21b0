"""Decodes text in UTF-8 or another encoding, with errors that name the line."""

import codecs
import os
import re

from tfreps.files.lfs_pointers import refuse_pointer

MARKS = {  # UTF-32 first, since its little-endian mark starts with that of UTF-16
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
PATTERNS = {  # which of every four bytes are mostly NUL in Latin text
    (False, True, False, True): "UTF-16LE",
    (True, False, True, False): "UTF-16BE",
    (False, True, True, True): "UTF-32LE",
    (True, True, True, False): "UTF-32BE",
}
SAMPLE = 4096  # bytes
_LONE_RETURN = re.compile("\r(?!\n)")


def decode_utf8(
    data: bytes,
    path: str | os.PathLike,
    first_line: int = 1,
    in_lines: bool = True,
    has_encoding: bool = False,
) -> str:
    """Decodes a part of a UTF-8 text file; the part must start at the beginning of a line.

    A byte order mark at the start of line 1 is removed.

    Args:
        data: bytes. The part of the file.
        path: str or path-like object. Path of the file for error messages.
        first_line: int. Number of the first line in `data`, counted from 1. Defaults to 1.
        in_lines: bool. Whether the text is read line by line, so that `check_line_ends` applies.
            Defaults to `True`.
        has_encoding: bool. Whether error messages suggest the argument `encoding` of the caller
            instead of a conversion of the file. Defaults to `False`.

    Returns:
        str. The text.

    Raises:
        ValueError: If the bytes are not UTF-8, contain a NUL byte or are rejected by
            `check_line_ends`.

    Example:
        >>> from tfreps.files.utf8_files import decode_utf8
        >>> decode_utf8(b"caf\\xc3\\xa9", "words.txt")
        'café'
    """
    wide = wide_encoding(data)
    if wide is not None:
        convert = f"Convert the file first: iconv -f {wide} -t UTF-8."
        raise ValueError(
            f"{path}, line {first_line}: expected UTF-8 text, but the file looks like {wide}. "
            f"{f'Set `encoding` to {wide}.' if has_encoding else convert}"
        )
    nul = data.find(b"\0")
    if nul >= 0:
        raise ValueError(
            f"{path}, line {_line(data, nul, first_line)}: expected UTF-8 text, found a NUL byte. "
            "The file looks binary (compressed text must be named *.gz)."
        )
    if first_line == 1:
        data = without_mark(data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        convert = "Convert the file first, for example from Latin-1: iconv -f LATIN1 -t UTF-8."
        choose = "Set `encoding` to the encoding of the file, for example latin-1."
        raise ValueError(
            f"{path}, line {_line(data, error.start, first_line)}: expected UTF-8 text, found the "
            f"byte 0x{data[error.start]:02x} ({error.reason}). "
            f"{choose if has_encoding else convert}"
        ) from None
    if in_lines:
        check_line_ends(text, path, first_line)
    return text


def check_line_ends(text: str, path: str | os.PathLike, first_line: int = 1) -> None:
    """Checks that lines end with a line feed, or with a carriage return and a line feed.

    A file whose lines end with carriage returns alone would otherwise be read as one line.

    Args:
        text: str. Whole lines of a file.
        path: str or path-like object. Path of the file for error messages.
        first_line: int. Number of the first line in `text`, counted from 1. Defaults to 1.

    Raises:
        ValueError: If a carriage return is not followed by a line feed.
    """
    if text.count("\r") == text.count("\r\n"):
        return
    line = first_line + text.count("\n", 0, _LONE_RETURN.search(text).start())
    raise ValueError(
        f"{path}, line {line}: expected lines that end with a line feed, found a carriage return "
        "without a line feed. If carriage returns end the lines, convert the file first: "
        "tr '\\r' '\\n' < OLD > NEW. Otherwise remove them: tr -d '\\r' < OLD > NEW."
    )


def read_utf8(path: str | os.PathLike, what: str = "", in_lines: bool = True) -> str:
    """Reads a text file in UTF-8 without changing its line endings.

    A byte order mark is removed.

    Args:
        path: str or path-like object. Path of the file.
        what: str. Description of the file for error messages, such as `"the vocabulary"`. Defaults
            to `""`.

    Returns:
        str. The text.

    Raises:
        ValueError: If the file cannot be read, is a git-lfs pointer, or is rejected by
            `decode_utf8`.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        name = f"{what} {path}" if what else path
        raise ValueError(f"Cannot read {name}: {error.strerror or error}.") from error
    refuse_pointer(path, data)
    return decode_utf8(data, path, in_lines=in_lines)


def decode_text(
    data: bytes, path: str | os.PathLike, encoding: str = "utf-8", in_lines: bool = True
) -> str:
    """Decodes a whole text file and removes its byte order mark, if any.

    Args:
        data: bytes. The whole file.
        path: str or path-like object. Path of the file for error messages.
        encoding: str. Name of an encoding for `bytes.decode`, such as `"utf-8"`, `"latin-1"` or
            `"utf-16"`. Defaults to `"utf-8"`.
        in_lines: bool. Whether the text is read line by line, so that `check_line_ends` applies.
            Defaults to `True`.

    Returns:
        str. The text.

    Raises:
        ValueError: If the file is binary or has a different encoding, if the encoding is
            unknown, or if `check_line_ends` rejects the text.

    Example:
        >>> from tfreps.files.utf8_files import decode_text
        >>> decode_text(b"caf\\xe9", "words.txt", "latin-1")
        'café'
    """
    try:
        if codecs.lookup(encoding).name in ("utf-8", "utf-8-sig"):
            return decode_utf8(data, path, in_lines=in_lines, has_encoding=True)
        if data.startswith(codecs.BOM_UTF8):
            raise ValueError(
                f"{path}, line 1: expected {encoding} text, found the byte order mark of "
                "UTF-8. Set `encoding` to utf-8."
            )
        text = data.decode(encoding)
    except LookupError:
        raise ValueError(
            "`encoding` must be the name of a Python text encoding, such as 'utf-8'; got "
            f"{encoding!r}."
        ) from None
    except UnicodeError as error:
        line = _line(data, getattr(error, "start", 0), 1)
        raise ValueError(
            f"{path}, line {line}: expected {encoding} text ({error}). Set `encoding` to "
            "the encoding of the file."
        ) from None
    if "\0" in text:
        line = 1 + text.count("\n", 0, text.index("\0"))
        wide = wide_encoding(data)
        hint = f" The file looks like {wide}. Set `encoding` to {wide}." if wide else ""
        raise ValueError(
            f"{path}, line {line}: expected {encoding} text, found a NUL character.{hint}"
        )
    if in_lines:
        check_line_ends(text, path)
    return text.removeprefix("\ufeff")


def without_mark(data: bytes) -> bytes:
    """Removes the byte order mark of UTF-8, if any, from the start of a file."""
    return data.removeprefix(codecs.BOM_UTF8)


def check_unicode(text: str, place: str) -> str:
    """Checks that a text can be encoded in UTF-8 and has no NUL character, and returns the text.

    Args:
        text: str. Text such as a value in a JSON file.
        place: str. File and line, with which error messages begin.

    Returns:
        str. The same text.

    Raises:
        ValueError: If the text contains a lone surrogate, which a JSON escape can produce, or a NUL
            character.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise ValueError(
            f"{place}: the text contains a lone surrogate, {half!r}. Remove it."
        ) from None
    if "\0" in text:
        raise ValueError(f"{place}: the text contains a NUL character. Remove it.")
    return text


def wide_encoding(data: bytes) -> str | None:
    """Detects UTF-16 and UTF-32 by their byte order marks or by the positions of NUL bytes.

    Returns:
        str or None. Name of the encoding, or `None` for text in any other encoding.

    Example:
        >>> from tfreps.files.utf8_files import wide_encoding
        >>> wide_encoding("a tale".encode("utf-16")), wide_encoding("a tale".encode("utf-16-be"))
        ('UTF-16', 'UTF-16BE')
    """
    for mark, name in MARKS.items():
        if data.startswith(mark):
            return name
    sample = data[:SAMPLE]
    if len(sample) < 4 or b"\0" not in sample:
        return None
    shares = [sample[i::4].count(0) / len(sample[i::4]) for i in range(4)]
    return PATTERNS.get(tuple(share > 0.5 for share in shares))


def _line(data: bytes, position: int, first_line: int) -> int:
    return first_line + data.count(b"\n", 0, position)
