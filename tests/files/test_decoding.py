import pytest

from tfreps.text import decode_utf8


def test_decodes():
    assert decode_utf8("café 😀\r\n".encode(), "a.txt") == "café 😀\r\n"


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
