import gzip

import pytest

from tfreps.data.text_lines import check_unicode, get_field, parse_record, read_lines, read_text


@pytest.mark.parametrize(
    "data, encoding, expected",
    [
        (b"\xef\xbb\xbfcaf\xc3\xa9\r\n", "utf-8", "café\r\n"),
        (b"caf\xc3\xa9", "UTF8", "café"),
        (b"\xef\xbb\xbfa", "utf-8-sig", "a"),
        (b"caf\xe9 \x85", "latin-1", "café \x85"),
        (b"caf\xe9 \x85", "cp1252", "café …"),
        ("é\n".encode("utf-16"), "utf-16", "é\n"),
        ("\ufeffé\n".encode("utf-16-le"), "utf-16-le", "é\n"),
        (b"plain", "ascii", "plain"),
    ],
)
def test_encodings(tmp_path, data, encoding, expected):
    (tmp_path / "a.txt").write_bytes(data)
    (tmp_path / "a.gz").write_bytes(gzip.compress(data))
    assert read_text(tmp_path / "a.txt", encoding) == expected
    assert read_text(tmp_path / "a.gz", encoding) == expected


@pytest.mark.parametrize(
    "data, encoding, message",
    [
        (b"", "utf-8", "a.txt is empty"),
        (b"good\ncaf\xe9\n", "utf-8", "a.txt, line 2: .* byte 0xe9"),
        (b"good\ncaf\xe9\n", "ascii", "a.txt, line 2: expected ascii text"),
        (b"good\n\n\0", "utf-8", "a.txt, line 3: .* NUL"),
        (b"good\n\n\0", "latin-1", "a.txt, line 3: .* NUL"),
        (b"\xef\xbb\xbfa", "latin-1", "a.txt, line 1: .* mark of UTF-8, .* Read it as utf-8"),
        (b"a", "latin-99", "'latin-99' is no text encoding"),
        (b"a", "hex", "'hex' is no text encoding"),
        (b"abc", "utf-16", "a.txt, line 1: expected utf-16"),
    ],
)
def test_bad_texts(tmp_path, data, encoding, message):
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_text(tmp_path / "a.txt", encoding)


def test_unreadable(tmp_path):
    with pytest.raises(ValueError, match="Cannot read .*none.txt: No such file"):
        read_text(tmp_path / "none.txt")
    (tmp_path / "a.gz").write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="a.gz: damaged or no gzip file"):
        read_text(tmp_path / "a.gz")


def test_lines_end_with_a_line_feed_only(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("a\r\nb\u2028c\x85d\re\n\nlast".encode())
    assert read_lines(path) == ["a", "b\u2028c\x85d\re", "", "last"]
    path.write_bytes(b"a\n")
    assert read_lines(path) == ["a"]


@pytest.mark.parametrize(
    "line",
    [
        '{"text": ["a", "b\\u00e9"], "label": 1}',
        "{'text': ['a', 'bé'], 'label': 1}",
        " {'text': ['a', 'b\\u00e9'], 'label': 1,}",
    ],
)
def test_records(line):
    wanted = {"text": ["a", "bé"], "label": 1}
    assert parse_record(line, "", "either") == wanted
    assert parse_record(line, "", "python") == wanted
    if '"' in line:
        assert parse_record(line, "") == wanted
    else:
        with pytest.raises(ValueError, match="expected one JSON .* Python: read it as format py"):
            parse_record(line, "")


def test_json_is_no_python_and_python_no_json():
    assert parse_record('{"a": true}', "") == {"a": True}
    assert parse_record("{'a': True}", "", "python") == {"a": True}
    with pytest.raises(ValueError, match="f: expected one Python dict literal"):
        parse_record('{"a": true}', "f", "python")


@pytest.mark.parametrize(
    "line, message",
    [
        ("{'text': open('x')}", "f, line 1: expected one JSON object, .* or Python dict literal"),
        ("{'text': 'a'", "f, line 1: expected one JSON"),
        ("[" * 100_000, "f, line 1: expected one JSON"),
        ("{[]: 1}", "f, line 1: expected one JSON"),
        ('["a"]', "f, line 1: expected an object .* a list"),
        ("'a'", "f, line 1: expected an object .* a str"),
    ],
)
def test_bad_records(line, message):
    with pytest.raises(ValueError, match=message):
        parse_record(line, "f, line 1", "either")


def test_fields():
    assert get_field({"a": 1}, "a", "f") == 1
    with pytest.raises(ValueError, match="f: no field 'b'; there are 'a', 'c'"):
        get_field({"a": 1, "c": 2}, "b", "f")


def test_half_characters():
    assert check_unicode("a😀", "f") == "a😀"
    with pytest.raises(ValueError, match="f: .* half a character"):
        check_unicode(parse_record('{"a": "\\ud83d"}', "f")["a"], "f")
    with pytest.raises(ValueError, match="f: a NUL"):
        check_unicode("a\0", "f")
