"""Conversion of strings to ids inside a graph, with explicit lengths."""

import numpy as np
import pytest
import tensorflow as tf

from tests.tiny_run import SIZES, VOCABULARY
from tfreps._src.export.bilm_reader import TokenReader
from tfreps.models import BiLM
from tfreps.text import batch_to_ids


@pytest.fixture
def reader(tmp_path):
    return TokenReader(BiLM(**SIZES), VOCABULARY, str(tmp_path))


def test_character_ids(reader):
    tokens = tf.constant([["the", "", "dog"], ["a", "beyond", ""], ["x", "y", "z"]])
    expected = batch_to_ids([["the", "", "dog"], ["a"], []])
    found = reader.to_ids(tokens, tf.constant([3, 1, 0]))
    np.testing.assert_array_equal(found, expected)


def test_boundaries_and_targets(reader):
    tokens, lengths = tf.constant([["the", "zebra"], ["dog", ""]]), tf.constant([2, 1])
    ids, mask = reader.bilm._with_boundaries(reader.to_ids(tokens, lengths), lengths)
    expected = batch_to_ids([["<S>", "the", "zebra", "</S>"], ["<S>", "dog", "</S>"]])
    np.testing.assert_array_equal(ids, expected)
    assert mask.numpy().sum(axis=1).tolist() == [4, 3]
    targets = reader.targets(tokens, lengths).numpy()
    names = np.array(VOCABULARY.tokens)[targets].tolist()
    assert names[0] == ["<S>", "the", "<UNK>", "</S>"] and names[1][:3] == ["<S>", "dog", "</S>"]


def test_token_ids(tmp_path):
    options = {"units": 8, "projection_dim": 4, "vocabulary_size": len(VOCABULARY)}
    reader = TokenReader(BiLM(**options), VOCABULARY, str(tmp_path))
    tokens, lengths = tf.constant([["a", "zebra", "a"]]), tf.constant([2])
    a, unknown = VOCABULARY.tokens_to_ids(["a", "<UNK>"])
    ids = reader.to_ids(tokens, lengths)
    assert ids.numpy().tolist() == [[a + 1, unknown + 1, 0]]
    assert reader.bilm._with_boundaries(ids, lengths)[0].numpy().tolist() == [
        [1, a + 1, unknown + 1, 2, 0]
    ]


@pytest.mark.parametrize("lengths", [[3], [-1], [1, 1], []])
def test_lengths_that_do_not_fit(reader, lengths):
    with pytest.raises(tf.errors.InvalidArgumentError, match="sequence_len"):
        reader.to_ids(tf.constant([["a", "b"]]), tf.constant(lengths, tf.int32))
