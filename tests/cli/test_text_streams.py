"""Tests the reading of raw text: lines, blocks and invalid text."""

import gzip
import io
import os
import sys

import pytest

from tfreps._src.cli.text_streams import count_lines, make_text_progress, read_texts

TEXT = "one two\n\n  drei vier \r\nλόγος"
LINES = ["one two", "", "drei vier", "λόγος"]


def read(path, at_once=10):
    return [line for block in read_texts(path, at_once) for line in block]


def test_lines_in_blocks(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(TEXT.encode())
    assert list(read_texts(path, 3)) == [LINES[:3], LINES[3:]]
    assert list(read_texts(path, 2)) == [LINES[:2], LINES[2:]]
    path.write_bytes(b"")
    assert list(read_texts(path, 2)) == []
    path.write_bytes(b"\n\n")
    assert read(path) == ["", ""]


def test_packed_files_and_standard_input(tmp_path, monkeypatch):
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert read(tmp_path / "a.txt.gz") == LINES
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TEXT.encode())))
    assert read("-") == LINES


def test_typed_lines_are_answered_one_by_one(monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"a\nb\n"))
    stdin.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", stdin)
    blocks = read_texts("-", 10)
    assert next(blocks) == ["a"]
    assert list(blocks) == [["b"]]


@pytest.mark.parametrize(
    "name, data, message",
    [
        ("a.txt", None, "Cannot read .*a.txt: No such file"),
        ("a.txt", b"one\nna\xefve\n", "line 2: expected UTF-8 text, found the byte 0xef"),
        ("a.txt", b"one\n\0\0\n", "line 2: .* NUL byte"),
        ("a.txt", "one\n".encode("utf-16"), "line 1"),
        ("a.txt.gz", b"one two\n", "the file is damaged or not a gzip file"),
        (
            "a.txt.gz",
            gzip.compress(TEXT.encode() * 99, mtime=0)[:-20],
            "the file is damaged or not a gzip file",
        ),
        (
            "a.txt.gz",
            gzip.compress(TEXT.encode(), mtime=0)[:12] + b"xxxxxxxxxxxxx",
            "the file is damaged or not a gzip file",
        ),
    ],
)
def test_what_is_no_text(tmp_path, name, data, message):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=message):
        read(tmp_path / name)


def test_lines_that_are_too_long(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"abc\nab\n" + "好好\n".encode())
    assert list(read_texts(path, 9, 6)) == [["abc", "ab", "好好"]]
    with pytest.raises(ValueError, match="a.txt, line 3: the line has more than 5 bytes"):
        list(read_texts(path, 9, 5))
    path.write_bytes(b"abc")
    assert list(read_texts(path, 9, 3)) == [["abc"]]


def test_a_block_ends_with_its_characters(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("".join("x" * 100_000 + "\n" for _ in range(7)))
    assert [len(block) for block in read_texts(path, 1000)] == [3, 3, 1]


@pytest.mark.parametrize("text", [TEXT, "", "\n", "a", "a\n\n"])
def test_the_number_of_lines_is_that_of_the_lines_that_are_read(tmp_path, text):
    (tmp_path / "a.txt").write_bytes(text.encode())
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    for path in tmp_path / "a.txt", tmp_path / "a.txt.gz":
        assert count_lines(path) == len(read(path))


def test_lines_of_a_stream_are_not_counted(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "damaged.gz").write_bytes(b"one\n")
    for path in "-", tmp_path / "pipe", tmp_path / "absent", tmp_path, tmp_path / "damaged.gz":
        assert count_lines(path) is None


def test_results_on_a_terminal_show_the_progress_themselves(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr("tfreps._src.files.progress.time.monotonic", lambda: now[0])
    for is_terminal, output, lines in (False, None, 1), (True, None, 0), (True, "out", 1):
        monkeypatch.setattr(sys.stdout, "isatty", lambda found=is_terminal: found)
        progress = make_text_progress("texts", 9, output)
        now[0] += 100
        progress(3)
        assert capsys.readouterr().err.count(" left\n") == lines
