"""Bytes of text files to strings, with errors that name the file and the line."""

import os


def decode_utf8(data: bytes, path: str | os.PathLike, first_line: int = 1) -> str:
    """Decodes a piece of a text file that starts at a line's beginning.

    Args:
        data: bytes of the file.
        path: name of the file, for the error.
        first_line: number of the first line in `data`, counted from 1.

    Returns:
        str.

    Raises:
        ValueError: the bytes are no UTF-8, or hold a NUL byte and so are no text at all.

    Example:
        >>> from tfreps.text import decode_utf8
        >>> decode_utf8(b"caf\\xc3\\xa9", "words.txt")
        'café'
    """
    nul = data.find(b"\0")
    if nul >= 0:
        raise ValueError(
            f"{path}, line {_line(data, nul, first_line)}: expected UTF-8 text, found a NUL byte. "
            "The file looks binary (compressed text must be called *.gz)."
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}, line {_line(data, error.start, first_line)}: expected UTF-8 text, found the "
            f"byte 0x{data[error.start]:02x} ({error.reason}). Convert the file first, for "
            f"example from Latin-1: iconv -f LATIN1 -t UTF-8."
        ) from None


def _line(data: bytes, position: int, first_line: int) -> int:
    return first_line + data.count(b"\n", 0, position)
