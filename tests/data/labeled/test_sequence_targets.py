import numpy as np
import pytest
import tensorflow as tf

from tfreps._src.data.labeled.sequence_targets import SentenceValues, TokenValues, make_targets
from tfreps.tags import TagSet

LENGTHS = np.array([3, 0, 2])
# A batch of sentences 2 and 0, padded to four tokens.
SENTENCES = np.array([2, 0])
PLACES = np.array([[3, 4, 4, 4], [0, 1, 2, 3]])
REAL = np.array([[True, True, False, False], [True, True, True, False]])


def test_tags():
    tags = make_targets([[5, 6, 7], [], np.array([8, 9])], LENGTHS, LENGTHS)
    batch = tags.batch(SENTENCES, PLACES, REAL)
    assert batch.tolist() == [[8, 9, 0, 0], [5, 6, 7, 0]]
    assert batch.dtype == np.int32 and tags.spec.is_compatible_with(tf.constant(batch))


def test_labels():
    labels = make_targets([4, np.int64(0), 6], LENGTHS, LENGTHS)
    assert isinstance(labels, SentenceValues)
    batch = labels.batch(SENTENCES, PLACES, REAL)
    assert batch.tolist() == [6, 4] and batch.dtype == np.int32


@pytest.mark.parametrize(
    "values, dtype",
    [([[[0.5, 1.0]] * 3, [], [[2.0, 3.0]] * 2], "float32"), ([[True] * 3, [], [True] * 2], "bool")],
)
def test_other_values(values, dtype):
    kept = TokenValues(values, LENGTHS, LENGTHS, "`extra`")
    batch = kept.batch(SENTENCES, PLACES, REAL)
    assert batch.dtype == dtype and kept.spec.is_compatible_with(tf.constant(batch))
    np.testing.assert_array_equal(batch[0, :2], values[2])
    np.testing.assert_array_equal(batch[1, :3], values[0])
    assert not batch[0, 2:].any() and not batch[1, 3:].any()


def test_cut():
    tags = make_targets([[5, 6, 7], [], [8, 9]], LENGTHS, np.array([2, 0, 2]))
    assert tags.flat.tolist() == [5, 6, 8, 9]


def test_names_are_converted_as_the_error_says():
    labels = ["pos", "neg", "pos"]
    ids = TagSet.from_sequences([labels], word="label").encode(labels)
    assert make_targets(ids, LENGTHS, LENGTHS).values.tolist() == [1, 0, 1]


def test_only_empty_sentences():
    zeros = np.array([0, 0])
    tags = make_targets([[], []], zeros, zeros)
    batch = tags.batch(np.array([0, 1]), np.zeros([2, 1], int), np.zeros([2, 1], bool))
    assert batch.tolist() == [[0], [0]]


@pytest.mark.parametrize(
    "targets, message",
    [
        ([[1, 2, 3], []], "`targets` must have .* 2 entries for 3 sentences"),
        ([[1, 2, 3], [], [1]], "`targets`, sentence 2 .*: expected 2 values, .* got 1"),
        ([[1, 2, 3], [], 4], "one label .*; sentence 0 has .1, 2, 3., but sentence 2 has 4"),
        ([1, 2, 0.5], "`targets` must be integers, .* got 1.0"),
        (["pos", "neg", "pos"], "integers, .* got 'pos'. .* TagSet.from_sequences.*encode.labels"),
        ([None, 1, 2], "`targets` must be integers"),
        ([["O", "O", "X"], [], ["O", "O"]], "integers, .* got 'O'. .*tag_set.encode.row"),
        ([1, -1, 2], "must not contain negative ids; got -1"),
        ([[1, 2, -3], [], [1, 2]], "must not contain negative ids; got -3"),
        ([[[1, 2], [3, 4], [5]], [], [1, 2]], "same shape|inhomogeneous"),
        ([[[1], [3], [5]], [], [[1], [2]]], "one integer per token, .* shape .1,. per token"),
    ],
)
def test_errors(targets, message):
    with pytest.raises(ValueError, match=message):
        make_targets(targets, LENGTHS, LENGTHS)
