"""Best paths of chains where scores are equal; the rest is tested in test_chain.py."""

import tensorflow as tf

from tfreps.layers.chain_paths import best_path, k_best_paths
from tfreps.layers.chain_recursion import Chain


def equal_chain():
    """Eight paths, all of score 0."""
    zeros, mask = tf.zeros([1, 4, 2]), tf.constant([[True, False, True, True]])
    return Chain.of(zeros, mask, tf.zeros([2, 2]), tf.zeros(2), tf.zeros(2))


def test_the_first_tag_wins_a_tie():
    tags, score = best_path(equal_chain())
    assert tags.numpy()[[0, 2, 3], 0].tolist() == [0, 0, 0] and score.numpy().tolist() == [0.0]


def test_equal_paths_come_once_each():
    tags, scores = k_best_paths(equal_chain(), 8)
    paths = {tuple(path) for path in tags.numpy()[[0, 2, 3], 0].T.tolist()}
    assert len(paths) == 8 and scores.numpy().tolist() == [[0.0] * 8]
