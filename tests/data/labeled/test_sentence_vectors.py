import h5py
import numpy as np
import pytest

from tfreps._src.data.labeled.sentence_vectors import TOKEN_DIGESTS, SentenceVectors, token_digest

RNG = np.random.default_rng(0)
TOKENS = ["a b c".split(), [], "the dog sat on it".split()]
LENGTHS = [len(tokens) for tokens in TOKENS]


def write(path, vectors, sentences=None):
    with h5py.File(path, "w") as file:
        for number, own in vectors.items():
            file[str(number)] = own
        file["sentence_to_index"] = "{}"
        if sentences is not None:
            file[TOKEN_DIGESTS] = np.array([token_digest(s) for s in sentences], np.uint64)
    return path


def vectors(*shape):
    return RNG.normal(size=shape).astype("float32")


def test_read(tmp_path):
    stored = {n: vectors(2, length, 4) for n, length in enumerate(LENGTHS)}
    reader = SentenceVectors(write(tmp_path / "v.hdf5", stored, TOKENS), TOKENS, LENGTHS)
    assert (reader.num_layers, reader.dim) == (2, 4)
    with reader.open() as file:
        batch = reader.read(file, np.array([2, 0, 1]), (3, 6))
    assert batch.shape == (3, 2, 6, 4) and batch.dtype == np.float32
    np.testing.assert_array_equal(batch[0, :, :5], stored[2])
    np.testing.assert_array_equal(batch[1, :, :3], stored[0])
    assert not batch[0, :, 5:].any() and not batch[1, :, 3:].any() and not batch[2].any()


def test_one_layer_and_other_numbers(tmp_path):
    stored = {7: vectors(3, 4).astype("float16"), 9: vectors(5, 4).astype("float16")}
    reader = SentenceVectors(write(tmp_path / "v.hdf5", stored), TOKENS[::-2], [5, 3], [9, 7])
    with reader.open() as file:
        batch = reader.read(file, np.array([0]), (1, 5))
    np.testing.assert_array_equal(batch[0, 0], stored[9])


def test_cut(tmp_path):
    """The file may contain vectors of the whole or of the truncated sentence."""
    stored = {0: vectors(1, 5, 4), 1: vectors(1, 2, 4)}
    path = write(tmp_path / "v.hdf5", stored, [TOKENS[2], ["THE", "dog"]])
    reader = SentenceVectors(path, [TOKENS[2]] * 2, [2, 2])
    with reader.open() as file:
        batch = reader.read(file, np.array([0, 1]), (2, 4))
    np.testing.assert_array_equal(batch[0, :, :2], stored[0][:, :2])
    np.testing.assert_array_equal(batch[1, :, :2], stored[1])
    assert not batch[:, :, 2:].any()


@pytest.mark.parametrize(
    "stored, message",
    [
        (
            {0: vectors(1, 3, 4)},
            "expected vectors of sentence 1, .* sentence 1 of the data .*; the file has none",
        ),
        (
            {0: vectors(1, 3, 4), 1: vectors(1, 2, 4)},
            "v.hdf5, sentence 1: the file has vectors of 2 tokens, but sentence 1 .* has 5",
        ),
        (
            {0: vectors(1, 3, 4), 1: vectors(2, 5, 4)},
            "sentence 1: expected 1 layers of 4 features, as in the first .*; got 2 layers of 4",
        ),
        ({0: vectors(3)}, "sentence 0: expected the shape .*; got .3."),
    ],
)
def test_errors(tmp_path, stored, message):
    write(tmp_path / "v.hdf5", stored)
    with pytest.raises(ValueError, match=message):
        SentenceVectors(tmp_path / "v.hdf5", TOKENS[::2], [3, 5])


@pytest.mark.parametrize(
    "sentences, numbers, message",
    [
        (["a", "b"], [0, 1], None),
        (["A", "b"], None, "vectors of 2 sentences, .* got vectors of 3 .* from a different text"),
        (["a", "B", "c"], None, None),
        (["a", "c"], [0, 2], None),
        (
            ["c", "b", "a"],
            None,
            "sentence 0: .* tokens of sentence 0 of .*, 'c', but the file was computed",
        ),
        (["a", "c"], [0, 1], "sentence 1: .* tokens of sentence 1 of .* from other tokens"),
    ],
)
def test_sentences_are_compared(tmp_path, sentences, numbers, message):
    path = write(tmp_path / "v.hdf5", {n: vectors(1, 4) for n in range(3)}, ["a", "b", "c"])
    tokens, ones = [[token] for token in sentences], [1] * len(sentences)
    if message is None:
        assert SentenceVectors(path, tokens, ones, numbers).dim == 4
    else:
        with pytest.raises(ValueError, match=message):
            SentenceVectors(path, tokens, ones, numbers)


def test_sentences_are_counted_without_digests(tmp_path):
    path = write(tmp_path / "v.hdf5", {n: vectors(1, 4) for n in range(3)})
    with pytest.raises(ValueError, match="vectors of 2 sentences, .*; got vectors of 3"):
        SentenceVectors(path, [["a"], ["b"]], [1, 1])


def test_bad_files(tmp_path):
    (tmp_path / "v.hdf5").write_text("text")
    for name in ("v.hdf5", "none.hdf5"):
        with pytest.raises(ValueError, match=f"{name}: expected an HDF5 file of vectors; "):
            SentenceVectors(tmp_path / name, [["a"]], [1])
    with pytest.raises(ValueError, match="got 2 sentences and 1 numbers"):
        SentenceVectors(tmp_path / "v.hdf5", [["a"], ["b"]], [1, 1], [0])
