"""Tests the decoding of text: encodings, byte order marks, NUL and lone surrogates."""

import pytest

from tfreps._src.files.utf8_files import (
    check_unicode,
    decode_text,
    decode_utf8,
    read_utf8,
    without_mark,
)

MARK = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    "data, message",
    [
        (b"a\nb\xe9 c", "a.txt, line 12: expected UTF-8 text, found the byte 0xe9"),
        (b"\n\n\n\x00", "a.txt, line 14: .* NUL"),
        (b"\xed\xa0\x80", "a.txt, line 11: .* 0xed"),  # a lone surrogate
        (b"end \xc3", "a.txt, line 11: .*unexpected end"),
        ("café".encode("utf-16"), "a.txt, line 11: .* looks like UTF-16.*iconv -f UTF-16 -t UTF-8"),
        ("两只狗".encode("utf-16"), "looks like UTF-16. Convert"),
        ("one two\n".encode("utf-16-le"), "looks like UTF-16LE. Convert"),
        ("one two\nthree".encode("utf-16-be"), "looks like UTF-16BE. Convert"),
        ("one".encode("utf-32"), "looks like UTF-32. Convert"),
        ("one".encode("utf-32-le"), "looks like UTF-32LE. Convert"),
        ("one".encode("utf-32-be"), "looks like UTF-32BE. Convert"),
        (b"\x00\x00\x00\x00\x00", "found a NUL byte"),
        (b"text that has one\x00 NUL", "found a NUL byte"),
    ],
)
def test_errors_name_the_line(data, message):
    with pytest.raises(ValueError, match=message):
        decode_utf8(data, "a.txt", first_line=11)


def test_a_byte_order_mark():
    assert decode_utf8(MARK + b"one", "a.txt") == "one"
    assert decode_utf8(MARK + b"one", "a.txt", first_line=2) == "\ufeffone"  # text in other lines
    assert without_mark(MARK + b"one") == without_mark(b"one") == b"one"


def test_files(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"caf\xc3\xa9\r\n")
    assert read_utf8(path) == "café\r\n"
    path.write_bytes(MARK + b"one")
    assert read_utf8(path) == "one"
    for data, message in (
        (b"a\n\xe9", "a.txt, line 2: expected UTF-8 text, found the byte 0xe9"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a.txt is a git-lfs pointer"),
    ):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=message):
            read_utf8(path)
    with pytest.raises(ValueError, match="Cannot read .*none.txt: No such file or directory"):
        read_utf8(tmp_path / "none.txt")
    with pytest.raises(ValueError, match="Cannot read the tags .*: Is a directory"):
        read_utf8(tmp_path, "the tags")


@pytest.mark.parametrize(
    "data, encoding, expected",
    [
        (MARK + b"caf\xc3\xa9", "utf-8", "café"),
        (b"caf\xe9", "latin-1", "café"),
        ("café".encode("utf-16"), "utf-16", "café"),
        ("\ufeffcafé".encode("utf-16-le"), "utf-16-le", "café"),
    ],
)
def test_other_encodings(data, encoding, expected):
    assert decode_text(data, "a.txt", encoding) == expected


@pytest.mark.parametrize(
    "data, encoding, message",
    [
        (b"a", "klingon", "`encoding` must be the name of a Python text encoding.*'klingon'"),
        (MARK + b"a", "latin-1", "a.txt, line 1: expected latin-1 text, found the byte order mark"),
        (b"a\n\x81", "cp1252", "a.txt, line 2: expected cp1252 text"),
        (b"a\n\0", "latin-1", "a.txt, line 2: expected latin-1 text, found a NUL .*. Remove the"),
        ("some".encode("utf-16-le"), "latin-1", "The file looks like UTF-16LE. Set `encoding`"),
        (b"a\n\xe9", "utf-8", "a.txt, line 2: .* Set `encoding` to the encoding of the file, for"),
        ("some".encode("utf-16"), "utf-8", "looks like UTF-16. Set `encoding` to UTF-16.$"),
    ],
)
def test_what_is_no_text_in_an_encoding(data, encoding, message):
    with pytest.raises(ValueError, match=message):
        decode_text(data, "a.txt", encoding)


def test_half_characters():
    assert check_unicode("a😀", "f") == "a😀"
    with pytest.raises(ValueError, match="f, line 1: the text contains a lone surrogate"):
        check_unicode("\ud83d", "f, line 1")
    with pytest.raises(ValueError, match="f: the text contains a NUL"):
        check_unicode("a\0", "f")
