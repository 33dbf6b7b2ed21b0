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
    ],
)
def test_errors_name_the_line(data, message):
    with pytest.raises(ValueError, match=message):
        decode_utf8(data, "a.txt", first_line=11)
