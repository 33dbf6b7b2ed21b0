import h5py
import numpy as np
import pytest

from tfreps.data.labelled.sentence_vectors import SentenceVectors

RNG = np.random.default_rng(0)
LENGTHS = [3, 0, 5]


def write(path, vectors):
    with h5py.File(path, "w") as file:
        for number, own in vectors.items():
            file[str(number)] = own
        file["sentence_to_index"] = "{}"
    return path


def vectors(*shape):
    return RNG.normal(size=shape).astype("float32")


def test_read(tmp_path):
    stored = {n: vectors(2, length, 4) for n, length in enumerate(LENGTHS)}
    reader = SentenceVectors(write(tmp_path / "v.hdf5", stored), range(3), LENGTHS, LENGTHS)
    assert (reader.num_layers, reader.dim) == (2, 4)
    with reader.open() as file:
        batch = reader.read(file, np.array([2, 0, 1]), (3, 6))
    assert batch.shape == (3, 2, 6, 4) and batch.dtype == np.float32
    np.testing.assert_array_equal(batch[0, :, :5], stored[2])
    np.testing.assert_array_equal(batch[1, :, :3], stored[0])
    assert not batch[0, :, 5:].any() and not batch[1, :, 3:].any() and not batch[2].any()


def test_one_layer_and_other_numbers(tmp_path):
    stored = {7: vectors(3, 4).astype("float16"), 9: vectors(5, 4).astype("float16")}
    reader = SentenceVectors(write(tmp_path / "v.hdf5", stored), [9, 7], [5, 3], [5, 3])
    with reader.open() as file:
        batch = reader.read(file, np.array([0]), (1, 5))
    np.testing.assert_array_equal(batch[0, 0], stored[9])


def test_cut(tmp_path):
    """The file may contain vectors of the whole or of the truncated sentence."""
    stored = {0: vectors(1, 5, 4), 1: vectors(1, 2, 4)}
    reader = SentenceVectors(write(tmp_path / "v.hdf5", stored), [0, 1], [5, 5], [2, 2])
    with reader.open() as file:
        batch = reader.read(file, np.array([0, 1]), (2, 4))
    np.testing.assert_array_equal(batch[0, :, :2], stored[0][:, :2])
    np.testing.assert_array_equal(batch[1, :, :2], stored[1])
    assert not batch[:, :, 2:].any()


@pytest.mark.parametrize(
    "stored, message",
    [
        ({0: vectors(1, 3, 4)}, "no vectors for sentence 1 .sentence 1 of the data"),
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
        SentenceVectors(tmp_path / "v.hdf5", [0, 1], [3, 5], [3, 5])


def test_bad_files(tmp_path):
    (tmp_path / "v.hdf5").write_text("text")
    for name in ("v.hdf5", "none.hdf5"):
        with pytest.raises(ValueError, match=f"{name}: expected an HDF5 file of vectors; "):
            SentenceVectors(tmp_path / name, [0], [1], [1])
    with pytest.raises(ValueError, match="got 2 sentences and 1 numbers"):
        SentenceVectors(tmp_path / "v.hdf5", [0], [1, 1], [1, 1])
