"""Text files: blocks, lines, encodings and errors."""

import gzip

import pytest

from tfreps._src.cli.text_streams import read_texts
from tfreps._src.data.text_files import read_lines, read_text
from tfreps._src.text.bert.piece_tokenizer import read_pieces
from tfreps.data import count_tokens, find_files, read_blocks, read_labeled, read_tagged
from tfreps.tags import TagSet
from tfreps.text import Vocabulary


def test_find_files(tmp_path):
    for name in ("b.txt", "a.txt", "c.gz", "[x].txt"):
        (tmp_path / name).write_text("")
    path = str(tmp_path)
    assert find_files(f"{path}/?.txt") == [f"{path}/a.txt", f"{path}/b.txt"]
    assert find_files(tmp_path / "[x].txt") == [f"{path}/[x].txt"]  # a file, not a pattern
    both = [tmp_path / "c.gz", f"{path}/a.*", f"{path}/a.txt"]
    assert find_files(both) == [f"{path}/a.txt", f"{path}/c.gz"]
    with pytest.raises(ValueError, match="nothing.* matches no file"):
        find_files([f"{path}/a.txt", f"{path}/nothing*"])
    with pytest.raises(ValueError, match="is a folder"):
        find_files(path)
    with pytest.raises(ValueError, match="`files` must contain at least one path"):
        find_files([])


@pytest.mark.parametrize("block_bytes", [1, 5, 7, 1000])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_blocks_are_whole_lines(tmp_path, block_bytes, name):
    text = "é é\n\nlong long long\r\nlast"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    blocks = list(read_blocks(str(path), block_bytes))
    assert "".join(block.text for block in blocks) == text + "\n"
    for number, block in enumerate(blocks):
        assert block.text.endswith("\n")
        before = "".join(earlier.text for earlier in blocks[:number])
        assert (block.offset, block.line) == (len(before.encode()), 1 + before.count("\n"))
        again = list(read_blocks(str(path), block_bytes, block.offset, block.line))
        assert again == blocks[number:]


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("a.txt", b"good\n" * 50 + b"caf\xe9\n", "a.txt, line 51: .* byte 0xe9"),
        ("a.txt", b"good\n" * 50 + b"\x00\x01", "a.txt, line 51: .* binary"),
        ("a.gz", b"no gzip", "a.gz, line 1 or later: the file is damaged or not"),
        (
            "a.gz",
            gzip.compress(b"word\n" * 1000, mtime=0)[:-20],
            "a.gz, line .* or later: .* is damaged",
        ),
        ("a.txt", gzip.compress(b"word\n" * 1000, mtime=0), "a.txt, line"),
    ],
)
def test_bad_files(tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(ValueError, match=message):
        list(read_blocks(str(path), 20))


def test_a_byte_order_mark_elsewhere_is_text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\ufeffa\n\ufeffb\n", encoding="utf-8")
    blocks = list(read_blocks(str(path), 1))
    assert blocks == [("a\n", 0, 1), ("\ufeffb\n", 5, 2)]
    assert list(read_blocks(str(path), 1, *blocks[1][1:])) == blocks[1:]


def test_unreadable(tmp_path):
    with pytest.raises(ValueError, match="Cannot read .*none.txt: No such file"):
        list(read_blocks(str(tmp_path / "none.txt")))


def test_count_tokens(tmp_path):
    (tmp_path / "1.txt").write_text("a b\u3000a\n\n<UNK> a\n", encoding="utf-8")
    (tmp_path / "2.txt").write_text("c\r\na")
    seen = []
    counts = count_tokens(
        str(tmp_path / "*.txt"), forbidden=["<S>"], progress=lambda *n: seen.append(n)
    )
    assert counts == {"a": 4, "b": 1, "c": 1, "<UNK>": 1}
    assert seen == [(5, 3), (7, 4)]
    with pytest.raises(ValueError, match="1.txt, line 3: the token '<UNK>' marks"):
        count_tokens(str(tmp_path / "*.txt"), forbidden=["<UNK>"])


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
        (
            b"\xef\xbb\xbfa",
            "latin-1",
            "line 1: .* mark of UTF-8. Set `encoding` to utf-8",
        ),
        (b"a", "latin-99", "must be the name of a Python text encoding, .*'latin-99'"),
        (b"a", "hex", "must be the name of a Python text encoding, .*'hex'"),
        (b"abc", "utf-16", "a.txt, line 1: expected utf-16"),
    ],
)
def test_bad_texts(tmp_path, data, encoding, message):
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read_text(tmp_path / "a.txt", encoding)


def test_unreadable_texts(tmp_path):
    with pytest.raises(ValueError, match="Cannot read .*none.txt: No such file"):
        read_text(tmp_path / "none.txt")
    (tmp_path / "a.gz").write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="a.gz: the file is damaged or not a gzip file"):
        read_text(tmp_path / "a.gz")


def test_lines_end_with_a_line_feed_only(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("a\r\nb\u2028c\x85d e\n\nlast".encode())
    assert read_lines(path) == ["a", "b\u2028c\x85d e", "", "last"]
    path.write_bytes(b"a\n")
    assert read_lines(path) == ["a"]


@pytest.mark.parametrize(
    "data, line",
    [(b"one two\rthree\r", 1), (b"a\nb\r\nc d\re\n", 3), (b"a\r\r\n", 1), (b"a\nb\r", 2)],
)
def test_carriage_returns_without_a_line_feed(tmp_path, data, line):
    """A file whose lines end with carriage returns alone must not be read as one line."""
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    message = rf"a.txt, line {line}: .* found a carriage return .*tr '\\r' '\\n' < OLD > NEW"
    read = {
        "blocks": lambda: list(read_blocks(str(path), 1)),
        "tokens": lambda: count_tokens(path),
        "latin lines": lambda: read_lines(path, "latin-1"),
        "tagged": lambda: read_tagged(path, tag_column=None),
        "tab": lambda: read_labeled(path),
        "json": lambda: read_labeled(path, "json"),
        "vocabulary": lambda: Vocabulary.read(path),
        "tags": lambda: TagSet.read(path),
        "pieces": lambda: read_pieces(path),
        "lines of a program": lambda: list(read_texts(path, 9)),
        "long lines": lambda: list(read_texts(path, 9, max_line_bytes=9)),
    }
    for call in read.values():
        with pytest.raises(ValueError, match=message):
            call()
