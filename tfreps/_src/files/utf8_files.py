"""Decodes text in UTF-8 or another encoding, with errors that name the line."""

import codecs
import os
import re

from tfreps._src.files.lfs_pointers import refuse_pointer

MARKS = {  # UTF-32 comes first: the UTF-32LE mark starts with the UTF-16LE mark
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
# Whether each of 4 successive bytes is mostly NUL in Latin text -> encoding of the text.
PATTERNS: dict[tuple[bool, ...], str] = {
    (False, True, False, True): "UTF-16LE",
    (True, False, True, False): "UTF-16BE",
    (False, True, True, True): "UTF-32LE",
    (True, True, True, False): "UTF-32BE",
}
SAMPLE = 4096  # number of bytes at the start of a file from which its encoding is guessed
_LONE_RETURN = re.compile("\r(?!\n)")


def decode_utf8(
    data: bytes,
    path: str | os.PathLike[str],
    first_line: int = 1,
    in_lines: bool = True,
    has_encoding: bool = False,
) -> str:
    """Decodes the bytes of one or more whole lines of a UTF-8 file, and returns the text.

    Raises a ValueError for bytes that are not UTF-8. The error names the line; `first_line` is the
    number of the first of the given lines in the file `path`. If it is 1, a byte order mark is
    removed. If `has_encoding` is True, the error suggests setting the caller's argument `encoding`
    instead of converting the file. If `in_lines` is True, `check_line_ends` checks the text.
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


def check_line_ends(text: str, path: str | os.PathLike[str], first_line: int = 1) -> None:
    """Raises a ValueError if `text` has a carriage return that no line feed follows.

    A file whose lines end with carriage returns alone would otherwise be read as one line. `text`
    consists of whole lines of the file `path`, and `first_line` is the number of the first of them.
    """
    if text.count("\r") == text.count("\r\n"):
        return
    found = _LONE_RETURN.search(text)
    line = first_line + text.count("\n", 0, found.start() if found else 0)
    raise ValueError(
        f"{path}, line {line}: expected lines that end with a line feed, found a carriage return "
        "without a line feed. If carriage returns end the lines, convert the file first: "
        "tr '\\r' '\\n' < OLD > NEW. Otherwise remove them: tr -d '\\r' < OLD > NEW."
    )


def split_lines(text: str) -> list[str]:
    """Splits a text into lines, and returns the list of the lines without their line endings.

    A line ends with a line feed, or with a carriage return and a line feed. No other character ends
    a line. The last line may lack its line ending.
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def read_utf8(path: str | os.PathLike[str], what: str = "", in_lines: bool = True) -> str:
    """Returns the text of a UTF-8 file without converting its line endings.

    A byte order mark is removed. Errors describe the file as `what`. If `in_lines` is True,
    `check_line_ends` checks the text.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        name = f"{what} {path}" if what else path
        raise ValueError(
            f"Cannot read {name}: {error.strerror or error}. Check the path and its permissions."
        ) from error
    refuse_pointer(path, data)
    return decode_utf8(data, path, in_lines=in_lines)


def decode_text(
    data: bytes, path: str | os.PathLike[str], encoding: str = "utf-8", in_lines: bool = True
) -> str:
    """Decodes the bytes of a whole file, and returns the text without a byte order mark.

    Bytes that are not text in `encoding`, NUL characters and, if `in_lines` is True, carriage
    returns without a line feed raise a ValueError that names the line of the file `path`.
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
        hint = "Remove the character, or choose a text file."
        if wide:
            hint = f"The file looks like {wide}. Set `encoding` to {wide}."
        raise ValueError(
            f"{path}, line {line}: expected {encoding} text, found a NUL character. {hint}"
        )
    if in_lines:
        check_line_ends(text, path)
    return text.removeprefix("\ufeff")


def without_mark(data: bytes) -> bytes:
    """Returns the bytes of a file without the byte order mark of UTF-8, if it has one."""
    return data.removeprefix(codecs.BOM_UTF8)


def check_unicode(text: str, location: str) -> str:
    """Returns the text; raises a ValueError if it has a lone surrogate or a NUL character."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        half = text[error.start]
        raise ValueError(
            f"{location}: the text contains a lone surrogate, {half!r}. Remove this character."
        ) from None
    if "\0" in text:
        raise ValueError(f"{location}: the text contains a NUL character. Remove this character.")
    return text


def wide_encoding(data: bytes) -> str | None:
    """Returns `"UTF-16"`, `"UTF-32LE"` or similar if data look like it, otherwise `None`."""
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
