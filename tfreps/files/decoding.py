"""Bytes of text files to strings, with errors that name the file and the line."""

import codecs
import os

MARKS = {  # of UTF-32 first, since that of UTF-16 begins like it
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
PATTERNS = {  # which of four bytes are mostly NUL, in text that is mostly Latin
    (False, True, False, True): "UTF-16LE",
    (True, False, True, False): "UTF-16BE",
    (False, True, True, True): "UTF-32LE",
    (True, True, True, False): "UTF-32BE",
}
SAMPLE = 4096  # bytes


def decode_utf8(data: bytes, path: str | os.PathLike, first_line: int = 1) -> str:
    """Decodes a piece of a text file that starts at a line's beginning.

    Args:
        data: bytes of the file.
        path: name of the file, for the error.
        first_line: number of the first line in `data`, counted from 1.

    Returns:
        str.

    Raises:
        ValueError: the bytes are no UTF-8, but for example UTF-16; or hold a NUL byte and so are
            no text at all.

    Example:
        >>> from tfreps.text import decode_utf8
        >>> decode_utf8(b"caf\\xc3\\xa9", "words.txt")
        'café'
    """
    wide = wide_encoding(data)
    if wide is not None:
        raise ValueError(
            f"{path}, line {first_line}: expected UTF-8 text, and this looks like {wide}. Convert "
            f"the file first: iconv -f {wide} -t UTF-8."
        )
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


def wide_encoding(data: bytes) -> str | None:
    """UTF-16 or UTF-32, if text begins with the mark of one, or every other byte is NUL.

    Example:
        >>> from tfreps.files.decoding import wide_encoding
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
