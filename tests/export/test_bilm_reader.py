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


def test_boundaries_and_targets(reader):
    tokens, lengths = tf.constant([["the", "zebra"], ["dog", ""]]), tf.constant([2, 1])
    ids, mask = reader.bilm._with_boundaries(reader.to_ids(tokens, lengths), lengths)
    expected = batch_to_ids([["<S>", "the", "zebra", "</S>"], ["<S>", "dog", "</S>"]])
    np.testing.assert_array_equal(ids, expected)
    assert mask.numpy().sum(axis=1).tolist() == [4, 3]
    targets = reader.targets(tokens, lengths).numpy()
    names = np.array(VOCABULARY.tokens)[targets].tolist()
    assert names[0] == ["<S>", "the", "<UNK>", "</S>"] and names[1][:3] == ["<S>", "dog", "</S>"]
