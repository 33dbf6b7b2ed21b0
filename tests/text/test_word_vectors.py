"""Word vectors in every format and compression: found rows and missing rows."""

import gzip
import struct
import subprocess
import sys

import numpy as np
import pytest

from tests.conftest import CHECKOUT
from tfreps._src.text import vector_files
from tfreps.text import WordVectors

WORDS = ["the", "café", "New York", "日本", "1"]
NO_SPACES = [word.replace(" ", "_") for word in WORDS]
TABLE = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
WANTED = ["日本", "<UNK>", "the", "New York", "café", "the", "york"]
EXPECTED = np.stack([TABLE[3], 0 * TABLE[0], TABLE[0], TABLE[2], TABLE[1], TABLE[0], 0 * TABLE[0]])


def lines(end="\n", separator=" "):
    rows = [
        separator.join([w, *map(str, row.tolist())]) for w, row in zip(WORDS, TABLE, strict=True)
    ]
    return "".join(row + end for row in rows).encode()


def binary(after=b"\n", words="abcde"):
    rows = [w.encode() + b" " + row.tobytes() + after for w, row in zip(words, TABLE, strict=True)]
    return b"5 4\n" + b"".join(rows)


FILES = {
    "glove.txt": lines(),
    "windows.txt": lines("\r\n"),
    "tabs.txt": lines(separator="\t"),
    "no_last_line_feed.txt": lines().removesuffix(b"\n"),
    "word2vec.txt": b"5 4\n" + lines(" \n"),
    "fasttext.vec": b"5 4\n" + lines(" \n"),
    "word2vec.bin": binary(b"\n", NO_SPACES),
    "gensim.bin": binary(b"", NO_SPACES),
}


def write(folder, name, data):
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("name", FILES)
def test_every_format(tmp_path, name, packed):
    wanted = [word.replace(" ", "_") for word in WANTED] if ".bin" in name else WANTED
    vectors = WordVectors.read(write(tmp_path, name + packed, FILES[name]), wanted)
    assert vectors.matrix.dtype == np.float32 and vectors.found.dtype == bool
    np.testing.assert_array_equal(vectors.matrix, EXPECTED)
    assert vectors.found.tolist() == [True, False, True, True, True, True, False]
    assert vectors.num_found == 5


def test_format_by_option(tmp_path):
    path = write(tmp_path, "vectors", binary())
    vectors = WordVectors.read(path, ["b"], file_format="binary")
    np.testing.assert_array_equal(vectors.matrix, TABLE[1:2])
    with pytest.raises(
        ValueError, match="line 2: expected a token .*If it is a binary word2vec file, rename it"
    ):
        WordVectors.read(path, ["b"])


def test_many_binary_rows_over_many_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(vector_files, "CHUNK", 7)
    path = write(tmp_path, "a.bin", binary())
    np.testing.assert_array_equal(WordVectors.read(path, list("abcde")).matrix, TABLE)


def test_lowercase_fallback(tmp_path):
    rows = b"apple 1 1\nApple 2 2\nbank 3 3\nEU 4 4\n"
    path = write(tmp_path, "a.txt", rows)
    wanted = ["Apple", "BANK", "APPLE", "apple", "eu"]
    plain = WordVectors.read(path, wanted)
    assert plain.matrix[:, 0].tolist() == [2, 0, 0, 1, 0]
    both = WordVectors.read(path, wanted, lowercase_fallback=True)
    assert both.matrix[:, 0].tolist() == [2, 3, 1, 1, 0]
    assert both.found.tolist() == [True, True, True, True, False]
    backwards = b"".join(rows.splitlines(keepends=True)[::-1])
    again = WordVectors.read(write(tmp_path, "b.txt", backwards), wanted, lowercase_fallback=True)
    np.testing.assert_array_equal(again.matrix, both.matrix)


def test_the_first_of_equal_tokens_counts(tmp_path):
    path = write(tmp_path, "a.txt", b"a 1\na 2\nA 3\n")
    options = {"lowercase_fallback": True}
    assert WordVectors.read(path, ["a", "A"], **options).matrix.tolist() == [[1], [3]]


def test_missing_rows_are_drawn_by_a_seed(tmp_path):
    path = write(tmp_path, "a.txt", b"a 1 2\n")
    tokens = ["a", *map(str, range(2000))]
    drawn = WordVectors.read(path, tokens, missing_std=0.1, seed=1)
    same = WordVectors.read(path, tokens, missing_std=0.1, seed=1)
    other = WordVectors.read(path, tokens, missing_std=0.1, seed=2)
    np.testing.assert_array_equal(drawn.matrix, same.matrix)
    assert drawn.matrix[0].tolist() == [1, 2] and drawn.num_found == 1
    assert (drawn.matrix[1:] != other.matrix[1:]).all()
    assert drawn.matrix[1:].std() == pytest.approx(0.1, rel=0.05)
    with pytest.raises(ValueError, match="`missing_std` must be at least 0"):
        WordVectors.read(path, tokens, missing_std=-1.0)


def test_tokens_that_are_no_utf8_match_nothing(tmp_path):
    path = write(tmp_path, "a.txt", b"caf\xe9 1 2\nthe 3 4\n")
    vectors = WordVectors.read(path, ["the", "caf\ufffd"])
    assert vectors.matrix.tolist() == [[3, 4], [0, 0]]


def test_tokens_with_spaces_and_numbers(tmp_path):
    path = write(tmp_path, "a.txt", b"the 1 2\n. . . 3 4\n5 6 7\nat a@b.c 8 9\n")
    vectors = WordVectors.read(path, [". . .", "5", "at a@b.c", "."])
    assert vectors.matrix.tolist() == [[3, 4], [6, 7], [8, 9], [0, 0]]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"b 1 2\na 1 x\n", "line 2: expected 2 numbers after the token 'a'"),
        (b"b 1 2\na 1 2\x0b3\n", "line 2: expected 2 numbers after the token 'a'; got 3"),
        (b"a nan 2\n", "line 1: the vector of 'a' must be finite"),
        (b"a 1e39 2\n", "line 1: the vector of 'a' must be finite"),
        (b"\n", "found no vectors"),
    ],
)
def test_bad_rows(tmp_path, data, message):
    with pytest.raises(ValueError, match=message):
        WordVectors.read(write(tmp_path, "a.txt", data), ["a"])


def test_infinite_in_binary(tmp_path):
    path = write(tmp_path, "a.bin", b"2 1\nb \0\0\0\0\na " + struct.pack("<f", float("inf")))
    with pytest.raises(ValueError, match="row 2: the vector of 'a' must be finite"):
        WordVectors.read(path, ["a"])


def test_loads_no_tensorflow():
    code = "import sys, tfreps.text; assert not {'tensorflow', 'keras'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=CHECKOUT)
