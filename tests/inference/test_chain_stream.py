"""Decoding of a chain that grows: the paths of the whole chain, in bounded memory."""

import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import crf
from tfreps._src.inference.chain_stream import ChainStream
from tfreps._src.layers.ops import chain

pytestmark = pytest.mark.usefixtures("eager_if_quick")


def on_grid(rng, *shape):
    """Returns scores whose float32 sums are exact, so that many paths have equal scores."""
    return rng.integers(-3, 4, shape).astype("float32") / 4


def scores_of(rng, num_tags, forbidden=0.0):
    scores = on_grid(rng, num_tags, num_tags), on_grid(rng, num_tags), on_grid(rng, num_tags)
    scores[0][rng.random(scores[0].shape) < forbidden] = -np.inf
    np.fill_diagonal(scores[0], 0.5)
    return scores


def streamed(emissions, scores, max_pending=10**9, step=1):
    """Returns the tags of a stream, and the largest number of undecided tokens."""
    stream, tags, longest = ChainStream(*scores, max_pending), [], 0
    for start in range(0, len(emissions), step):
        tags += stream.append(emissions[start : start + step])
        longest = max(longest, min(start + step, len(emissions)) - len(tags))
    return tags + stream.best(emissions[:0]), longest


def viterbi(emissions, scores):
    mask = np.ones([1, len(emissions)], bool)
    found, _ = tf.function(chain.viterbi)(emissions[None], mask, *scores)
    return found.numpy()[0].tolist()


@pytest.mark.parametrize("forbidden", [0.0, 0.4])
def test_all_paths_of_short_chains(forbidden):
    """The best path is the enumerated one; of equal ones, the first in the order of tag ids."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        scores, emissions = scores_of(rng, 3, forbidden), on_grid(rng, rng.integers(1, 6), 3)
        paths = crf.all_scores(emissions, *scores)
        found = list(max(paths, key=paths.get))  # the first of equal ones
        for step in 1, 3:
            assert streamed(emissions, scores, step=step)[0] == found
        stream = ChainStream(*scores, 99)
        final = stream.append(emissions[:2])
        assert final + stream.best(emissions[2:]) == found


@pytest.mark.parametrize("num_tokens", [300, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_long_chain_has_the_tags_of_viterbi(num_tokens):
    rng = np.random.default_rng(1)
    scores, emissions = scores_of(rng, 5, 0.2), on_grid(rng, num_tokens, 5)
    tags, longest = streamed(emissions, scores, step=10)
    assert tags == viterbi(emissions, scores) and longest < 200


def test_scores_do_not_drift():
    """A difference of 1e-4 decides after thousands of tokens whose scores are near 100."""
    scores = np.zeros([2, 2]), np.zeros(2), np.zeros(2)
    scores[0][[0, 1], [1, 0]] = -np.inf
    emissions = np.full([20_000, 2], -100.3, "float32")
    emissions[7, 1] += 1e-4
    tags, _ = streamed(emissions, scores, step=len(emissions))
    assert set(tags) == {1}


@pytest.mark.parametrize("step", [1, 7, 100])
def test_undecided_tokens_are_bounded(step):
    """Two tags that never follow each other stay undecided until the limit fixes the better one."""
    scores = np.array([[0.0, -np.inf], [-np.inf, 0.0]]), np.zeros(2), np.zeros(2)
    emissions = np.array([[1.0, 0.0]] * 8 + [[0.0, 1.0]] * 92)
    tags, longest = streamed(emissions, scores, step=step)
    assert tags == [1] * 100 and longest == 100
    tags, longest = streamed(emissions, scores, max_pending=10, step=step)
    assert tags == [0] * 100 and longest <= 10
    tags, longest = streamed(emissions, scores, max_pending=20, step=step)
    assert tags == [1] * 100 and longest <= 20
    assert streamed(emissions, scores, max_pending=1, step=step)[1] <= 1


def test_a_chain_without_a_possible_path_has_some_tags():
    impossible = np.full([2, 2], -np.inf), np.zeros(2), np.zeros(2)
    assert len(streamed(np.zeros([5, 2]), impossible)[0]) == 5
