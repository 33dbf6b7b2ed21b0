"""Word vectors in NumPy arrays, with their words in text and Parquet files."""

import sys

import numpy as np
import pytest

from tfreps.text import WordVectors

WORDS = ["the", "king", "queen", "New York", "日本"]
TABLE = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
pyarrow = pytest.importorskip("pyarrow")
import pyarrow.parquet  # noqa: E402, F811


def write_parquet(path, **columns):
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def write(folder, table=TABLE, words=WORDS, kind="txt"):
    np.save(folder / "glove.npy", table)
    if kind == "txt":
        (folder / "glove.txt").write_text("".join(word + "\n" for word in words))
    else:
        write_parquet(folder / "glove.parquet", index=words, rank=[*range(len(words))])
    return folder / "glove.npy"


@pytest.mark.parametrize("kind", ["txt", "parquet"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "f2", "f8"])
def test_every_word_gets_its_row(tmp_path, kind, dtype):
    table = np.asfortranarray(TABLE.astype(dtype))
    vectors = WordVectors.read(write(tmp_path, table, kind=kind), ["日本", "dog", "New York"])
    assert vectors.found.tolist() == [True, False, True]
    expected = [TABLE.astype(dtype)[4], np.zeros(4), TABLE.astype(dtype)[3]]
    np.testing.assert_array_equal(vectors.matrix, np.array(expected, "float32"))


def test_neighbors(tmp_path):
    table = np.array([[1, 0.1], [0.9, 0.2], [0.8, 0.4], [-1, 1], [-0.9, 1.2]])
    words = ["king", "prince", "queen", "frog", "toad"]
    unit = WordVectors.read(write(tmp_path, table, words, "parquet"), words).matrix
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    nearest = [np.argsort(-unit @ row)[1] for row in unit]
    assert [words[n] for n in nearest] == ["prince", "king", "prince", "toad", "frog"]


def test_words_in_the_only_other_file(tmp_path):
    path = write(tmp_path)
    (tmp_path / "glove.txt").rename(tmp_path / "index.txt")
    assert WordVectors.read(path, ["king"]).matrix.tolist() == [TABLE[1].tolist()]
    (tmp_path / "notes.txt").write_text("Notes.\n")
    with pytest.raises(ValueError, match="expected glove.txt, .*; found index.txt, notes.txt"):
        WordVectors.read(path, ["king"])


def test_more_rows_than_a_block(tmp_path):
    words = [f"w{n}" for n in range(10_000)]
    table = np.arange(20_000, dtype="float32").reshape(10_000, 2)
    vectors = WordVectors.read(write(tmp_path, table, words), ["w4096", "w9999"])
    np.testing.assert_array_equal(vectors.matrix, table[[4096, 9999]])


@pytest.mark.parametrize(
    "table, words, message",
    [
        (TABLE, WORDS[1:], "glove.txt has 4 words, but .*glove.npy has 5 vectors"),
        (TABLE, WORDS * 2, "glove.txt has 6 words, but .*glove.npy has 5 vectors"),
        (np.array([["a"]], object), ["a"], "expected a NumPy file"),
        (TABLE[0], WORDS, r"expected an array of float numbers .*; got float32 of shape \(4,\)"),
        (TABLE.astype("int32"), WORDS, r"got int32 of shape \(5, 4\)"),
        (TABLE[:0], [], r"got float32 of shape \(0, 4\)"),
        (np.zeros([1, 65537], "f2"), ["a"], "at most 65536 columns"),
        (np.full([5, 4], 1e300), WORDS, "row 2: the vector of 'king' must be finite"),
    ],
)
def test_bad_arrays(tmp_path, table, words, message):
    with pytest.raises(ValueError, match=message):
        WordVectors.read(write(tmp_path, table, words), ["king"])


def test_damaged_files(tmp_path):
    path = write(tmp_path)
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:20], b"", b"text", b"PK\3\4" + whole):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="expected a NumPy file"):
            WordVectors.read(path, ["king"])
    path.unlink()
    with pytest.raises(ValueError, match="Cannot read the word vectors in .*No such file"):
        WordVectors.read(path, ["king"])


def test_a_shape_that_the_file_does_not_have(tmp_path):
    """The headers declare 400 TB or something else; no memory is taken."""
    path = write(tmp_path)
    whole = path.read_bytes()
    for shape in (b"(10**9", b"(5, 5)", b"(-5,4)", b"(5,-4)", b"'a'   ", b"5, 4  "):
        path.write_bytes(whole.replace(b"(5, 4)", shape))
        with pytest.raises(ValueError, match="expected a NumPy file"):
            WordVectors.read(path, ["king"])
    header = np.lib.format.header_data_from_array_1_0(TABLE) | {"shape": (10**11, 1000)}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(TABLE.tobytes())
    with pytest.raises(ValueError, match="expected a NumPy file"):
        WordVectors.read(path, ["king"])


def test_bad_parquet_files(tmp_path):
    path = write(tmp_path, kind="parquet")
    words = tmp_path / "glove.parquet"
    write_parquet(words, a=WORDS, b=WORDS)
    with pytest.raises(ValueError, match="expected 5 rows.*; got 5 rows and 2 columns of strings"):
        WordVectors.read(path, ["king"])
    write_parquet(words, a=WORDS[1:])
    with pytest.raises(ValueError, match="expected 5 rows.*; got 4 rows"):
        WordVectors.read(path, ["king"])
    write_parquet(words, a=[*WORDS[1:], None])
    with pytest.raises(ValueError, match="row 5 has no word"):
        WordVectors.read(path, ["king"])
    words.write_bytes(b"no Parquet")
    with pytest.raises(ValueError, match="glove.parquet is not a Parquet file"):
        WordVectors.read(path, ["king"])


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = write(tmp_path, kind="parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ValueError, match="needs the package pyarrow. Run `pip install pyarrow`"):
        WordVectors.read(path, ["king"])
