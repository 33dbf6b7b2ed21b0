"""CharLSTMEncoder against a loop over single tokens."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.layers import CharLSTMEncoder
from tfreps.text import batch_to_ids, token_character_ids

SENTENCES = [["a", "naïve", "a", "x" * 30], ["犬"], []]


def make():
    layer = CharLSTMEncoder(units=3, character_dim=4, max_characters=12)
    layer.build((None, None, 12))
    rng = np.random.default_rng(4)
    for weight in layer.weights:
        weight.assign(0.5 * rng.normal(size=weight.shape))
    return layer


def test_equals_the_bilstm_on_each_token_alone():
    layer = make()
    vectors = layer(batch_to_ids(SENTENCES, max_characters=12)).numpy()
    assert vectors.shape == (3, 4, 6)
    for row, sentence in enumerate(SENTENCES):
        for t, token in enumerate(sentence):
            ids = [i for i in token_character_ids(token, 12) if i != 261]
            x = np.asarray(layer.characters)[ids]
            expected = layer.bilstm(x[None])[1][0]
            assert_close(vectors[row, t], expected)
        np.testing.assert_array_equal(vectors[row, len(sentence) :], 0.0)


def test_equal_tokens_are_encoded_once():
    ids = batch_to_ids([["dog"] * 50], max_characters=12)
    layer, seen = make(), []
    original = layer.bilstm.call
    layer.bilstm.call = lambda x, **kwargs: (seen.append(x.shape), original(x, **kwargs))[1]
    vectors = layer(ids)
    assert seen == [(1, 5, 4)]  # one token, and its three letters between two markers
    np.testing.assert_array_equal(vectors[0], np.tile(vectors[0, :1], [50, 1]))


def test_a_batch_without_tokens():
    assert make()(tf.zeros([2, 0, 12], "int32")).shape == (2, 0, 6)
    np.testing.assert_array_equal(make()(tf.zeros([1, 2, 12], "int32")), np.zeros([1, 2, 6]))


def test_wrong_ids():
    with pytest.raises(tf.errors.InvalidArgumentError, match="ids must lie in 0..261"):
        make()(tf.fill([1, 1, 12], 262))
