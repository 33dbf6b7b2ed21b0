"""Rows of word vector files, and all kinds of invalid files."""

import gzip
import re

import numpy as np
import pytest

from tfreps._src.text import vector_files
from tfreps._src.text.vector_files import vector_rows

TABLE = np.arange(20, dtype="<f4").reshape(5, 4)
BINARY = b"5 4\n" + b"".join(
    word.encode() + b" " + row.tobytes() + b"\n" for word, row in zip("abcde", TABLE, strict=True)
)


def write(folder, name, data):
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def read(path):
    return list(vector_rows(str(path)))


def test_text_rows(tmp_path):
    rows = read(write(tmp_path, "a.vec", b"2 3\na 1 2 3 \nb\xff c 1 2 3\r\n"))
    assert [row[:4] for row in rows] == [
        (b"a", b"1 2 3", 3, f"{tmp_path}/a.vec, line 2"),
        (b"b\xff c", b"1 2 3", 3, f"{tmp_path}/a.vec, line 3"),
    ]
    assert not any(row.binary for row in rows)


@pytest.mark.parametrize(
    "data, expected, skipped",
    [
        (b"2 3\nthe 1 2 3\nwindows 10 4 5 6", ["the", "windows 10"], ""),
        (b"2 3\nwindows 10 4 5 6\nthe 1 2 3", ["windows 10", "the"], ""),
        (b". . . 1 2 3\nthe 1 2 3\n", [". . .", "the"], ""),
        (b"the 1 2 3\n\n", ["the"], ""),
        (b"\nthe 1 2 3\n", ["the"], ""),
        (
            b"3 3\nthe 1 2 3\n\n 4 5 6\ncat 7 8 9\n",
            ["the", "cat"],
            "4: skipped 1 of 3 rows, .*: '4 5 6'",
        ),
        (
            b"the 1 2 3\ncat 1\na 1 2 3\nb x 1\n",
            ["the", "a"],
            "2: skipped 2 of 4 rows, .*: 'cat 1'",
        ),
        (
            b"the 1 2 3\na\tb 1 2 3\na b 2 3",
            ["the", "a\tb"],
            "3: skipped 1 of 3 rows, .*: 'a b 2 3'",
        ),
        (b"windows 10 4 5 6\na 1 2 3\nb 1 2 3\n", ["windows 10", "a", "b"], ""),
    ],
)
def test_the_width_is_that_of_the_header_or_of_most_rows(tmp_path, caplog, data, expected, skipped):
    rows = read(write(tmp_path, "a.vec", data))
    assert [row.token.decode() for row in rows] == expected
    assert {row.dimension for row in rows} == {3}
    wanted = f"a.vec, line {skipped}" if skipped else "^$"
    assert re.search(wanted, caplog.text), caplog.text
    assert len(caplog.records) == bool(skipped)


def test_rows_after_the_sample(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_files, "CHUNK", 1)
    rows = read(write(tmp_path, "a.txt", b"a 1 2\nb 10 3 4\n\nc 5\nd 6 7\ne 1 2 3 4\n"))
    assert [(row.token, row.numbers) for row in rows] == [
        (b"a", b"1 2"),
        (b"b 10", b"3 4"),
        (b"d", b"6 7"),
    ]
    assert rows[-1].place.endswith("a.txt, line 5")


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_binary_rows(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(vector_files, "CHUNK", chunk)
    rows = read(write(tmp_path, "a.bin.gz", BINARY))
    assert [row.token for row in rows] == [b"a", b"b", b"c", b"d", b"e"]
    assert all(row.binary and row.dimension == 4 for row in rows)
    np.testing.assert_array_equal([np.frombuffer(row.numbers, "<f4") for row in rows], TABLE)


def test_a_byte_order_mark_is_removed(tmp_path):
    for data in (b"the 1 2\n", b"1 2\nthe 1 2\n"):
        path = write(tmp_path, "a.txt", b"\xef\xbb\xbf" + data)
        assert [row.token for row in vector_rows(str(path))] == [b"the"]


def test_the_format_may_be_given(tmp_path):
    rows = vector_rows(str(write(tmp_path, "vectors", BINARY)), "binary")
    assert next(rows).place == f"{tmp_path}/vectors, row 1"
    with pytest.raises(ValueError, match="`file_format` must be 'text' or 'binary'; got 'glove'"):
        next(vector_rows("vectors", "glove"))


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "a.txt: the file is empty"),
        (
            b"1 3\na 1 2\n",
            "line 2: expected a token and 3 numbers, as in the header; most rows end",
        ),
        (
            b"1 2\na 1 2 3\n",
            "2: expected a token and 2 numbers, .* end in 3 numbers, such as 'a 1 2 3'",
        ),
        (b"a 1 2\rb 3 4\r", "a.txt, line 1: .* found a carriage return without a line feed"),
        (b"3 2\na 1 2\nb 1 2\n", "line 1: the header declares 3 vectors, but 2 follow"),
        (b"1 2\na 1 2\nb 1 2\n", "line 1: the header declares 1 vectors, but 2 follow"),
        (b"2 2\n", "line 1: the header declares 2 vectors, but 0 follow"),
        (b"0 2\n", "line 1: the header declares 0 vectors of dimension 2"),
        (b"5 -2\n", "line 1: the header declares 5 vectors of dimension -2"),
        (b"5 2000000000\n", "line 1: the header declares 5 vectors of dimension 2000000000"),
        (b"5 " + b"9" * 5000 + b"\n", "line 1: the numbers in the header must have at most 18"),
        (b"hello\nworld\n", "1: expected a token and a vector of 1 to 65536 numbers; got 'hello'"),
        (b"this is some text\n", "line 1: expected a token and a vector"),
        (gzip.compress(b"a 1 2\n", mtime=0), "compressed with gzip. Rename it"),
        (b"\x93NUMPY\x00\x01\n", "NUL byte"),
        (vector_files.FASTTEXT_MAGIC + b"\x0c\n", "fastText model file"),
        (
            b"a" * (vector_files.LONGEST_LINE + 9),
            "line 1: the line has 4194304 bytes or more|line 1: expected a token",
        ),
    ],
)
def test_bad_text(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path, "a.txt", data))


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "a.bin: the file is empty"),
        (b"hello world\n", "line 1: expected the header of a binary word2vec file"),
        (b"a 1 2\nb 1 2\n", "If the file is text, rename it to"),
        (b"5 4" + b"0" * 300, "line 1: expected the header"),
        (vector_files.FASTTEXT_MAGIC + b"\x0c\n", "fastText model file"),
        (BINARY[:-20], "bytes, too few for the 5 vectors of dimension 4"),
        (BINARY[:-3], "row 5: the file ends here, but its header declares 5 vectors"),
        (b"1000000000 300\n" + BINARY[4:], "too few for the 1000000000 vectors"),
        (b"1 2000000000\n" + BINARY[4:], "line 1: the header declares 1 vectors of dimension"),
        (b"4" + BINARY[1:], "the file continues after the 4 vectors"),
        (b"5 3" + BINARY[3:], "the file continues|no space after the token"),
        (b"1 1\n" + b"a" * 70000, "row 1: .*found no space after the token"),
    ],
)
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_bad_binary(tmp_path, data, message, packed):
    if packed:
        message = message.replace("a.bin", "a.bin.gz")
        message += "|the file ends here|found no space"  # the size is not known yet
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path, "a.bin" + packed, data))


def test_unreadable_and_damaged(tmp_path):
    with pytest.raises(ValueError, match="Cannot read the word vectors in .*none.txt: No such"):
        read(tmp_path / "none.txt")
    path = tmp_path / "a.txt.gz"
    path.write_bytes(b"a 1 2\n")
    with pytest.raises(ValueError, match="a.txt.gz: the file is damaged or not a gzip file"):
        read(path)
    path.write_bytes(gzip.compress(b"a 1 2\n" * 999)[:-20])
    with pytest.raises(ValueError, match="a.txt.gz: the file is damaged or not a gzip file"):
        read(path)


def test_a_parquet_file(tmp_path):
    with pytest.raises(ValueError, match=r"words.parquet: .* Give the NumPy file \(\*.npy\)"):
        read(write(tmp_path, "words.parquet", b"PAR1"))
