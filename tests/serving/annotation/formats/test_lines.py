"""Text and JSON lines are read in parts, and damaged or compressed files are recognized."""

import bz2
import gzip
import json
import lzma

import numpy as np
import pytest

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")


from tfreps.serving.annotation.formats.lines import JsonLines, TextLines

LINES = [b"one", b"", "zwei \u00e4\u4f60".encode(), b" ", b"five" * 9, b"last"]


def read(form, path, part_bytes):
    size = path.stat().st_size
    parts = form.parts(str(path), size, part_bytes)
    assert parts[0][0] == 0 and parts[-1][1] >= size
    return [item for part in parts for item in form.items(str(path), *part)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [b"", b"end"])
def test_every_size_of_parts_reads_every_line_once(tmp_path, end, last):
    path = tmp_path / "a.txt"
    path.write_bytes(end.join(LINES) + (end if last == b"end" else b""))
    for part_bytes in range(1, path.stat().st_size + 2):
        assert read(TextLines(), path, part_bytes) == LINES, part_bytes


@pytest.mark.parametrize("suffix, module", [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_a_compressed_file_is_one_part(tmp_path, suffix, module):
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(module.compress(b"\n".join(LINES)))
    assert read(TextLines(), path, 5) == LINES
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(
        ValueError, match="is damaged, truncated, or not in the given `input_format`"
    ):
        read(TextLines(), path, 5)


def test_records_of_text():
    for mark in ("", "\ufeff"):
        assert TextLines().record(f"{mark} ä b\t".encode()) == {"text": "ä b"}


@pytest.mark.parametrize(
    "raw, message",
    [
        (b"a\xff", "must be UTF-8 text; byte 2 of the line is not"),
        (b"a\0", "without NUL characters, .*; remove the NUL character"),
        (b"a\rb", "must not contain a carriage return without a line feed"),
    ],
)
def test_lines_that_are_no_text(raw, message):
    with pytest.raises(ValueError, match=message):
        TextLines().record(raw)


@pytest.mark.parametrize(
    "raw, message",
    [
        (b'{"text": ', "must be a JSON object, but is not JSON"),
        (b"[" * 100_000, "must be a JSON object, but is not JSON"),
        (b'["a"]', "must be a JSON object; got list"),
        (b'{"text": "\\ud83d"}', "got one half of a surrogate pair"),
        (b"\xff", "must be UTF-8 text"),
    ],
)
def test_lines_that_are_no_record(raw, message):
    with pytest.raises(ValueError, match=message):
        JsonLines().record(raw)


def test_a_pair_of_escapes_is_a_character():
    assert JsonLines().record(b'{"text": "\\ud83d\\ude00"}') == {"text": "\U0001f600"}


def test_numbers_are_rounded_to_the_digits_of_float32():
    record = {"id": 1, "text": "é", "vector": np.array([[0.1, 1 / 3]], np.float32)}
    line = JsonLines().encode(record, None)
    assert json.loads(line) == {"id": 1, "text": "é", "vector": [[0.1, 0.3333333]]}
