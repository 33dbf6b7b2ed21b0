"""Recursions and best paths of chains against loops."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.layers.ops.chain_paths_oracle import MASKS, Problem
from tfreps._src.layers.ops.chain_recursion import (
    FORBIDDEN,
    Chain,
    best_path,
    is_possible,
    k_best_paths,
    log_sum_exp,
    previous_values,
    suffix_scores,
)
from tfreps._src.layers.ops.position_loop import BLOCK


def test_suffixes_give_sums_and_best_paths_maxima():
    problem = Problem.random(MASKS)
    chain = Chain.of(*(tf.constant(x) for x in problem))
    rows = range(len(MASKS))
    suffixes, scales, total = suffix_scores(chain)
    assert suffixes.shape == (BLOCK + 1, len(MASKS), 4)
    assert scales.shape == (BLOCK, len(MASKS), 1)
    assert_close(total, [problem.log_normalizer(row) for row in rows])
    assert_close(best_path(chain)[1], [problem.best(row)[0][1] for row in rows])


@pytest.mark.slow
def test_scores_stay_small_however_long_the_sentence():
    problem = Problem.random(np.ones([2, 300]), scale=5.0)
    problem.emissions[:] += 100.0
    chain = Chain.of(*(tf.constant(x) for x in problem))
    suffixes, _, total = suffix_scores(chain)
    assert tf.reduce_max(tf.abs(suffixes[:, :, :-1])) < 100.0 < 3e4 < total[0]
    # With sums of 30,000 in float32, the second half of a sentence would differ from its own path.
    half = problem._replace(emissions=problem.emissions[:, 150:], mask=problem.mask[:, 150:])
    tags, half_tags = (best_path(Chain.of(*map(tf.constant, p)))[0] for p in (problem, half))
    np.testing.assert_array_equal(tags[-140:], half_tags[-140:])


def test_a_chain_has_one_state_more_and_real_tokens_last():
    problem = Problem.random([[1, 0, 1], [0, 1, 0]])
    chain = Chain.of(*(tf.constant(x) for x in problem))
    lowest = np.float32(FORBIDDEN)
    no_token = [lowest, lowest, lowest, 0.0]
    expected = [
        [no_token] * (BLOCK - 2) + [[*problem.emissions[0, t], lowest] for t in (0, 2)],
        [no_token] * (BLOCK - 1) + [[*problem.emissions[1, 1], lowest]],
    ]
    np.testing.assert_array_equal(tf.transpose(chain.scores, [1, 0, 2]), expected)
    np.testing.assert_array_equal(chain.steps[:3, :3], problem.transitions)
    np.testing.assert_array_equal(chain.steps[3, :3], problem.start)
    np.testing.assert_array_equal(chain.steps[:, 3], [lowest, lowest, lowest, 0.0])
    np.testing.assert_array_equal(chain.ends, [*problem.end, 0.0])
    np.testing.assert_array_equal(chain.before_the_first(), [[0.0, 0.0, 0.0, 1.0]] * 2)
    by_token = chain.by_token(chain.scores)[..., :-1].numpy()
    np.testing.assert_array_equal(by_token[problem.mask], problem.emissions[problem.mask])
    empty = Chain.of(tf.zeros([1, 0, 3]), tf.zeros([1, 0], "bool"), *map(tf.constant, problem[2:]))
    np.testing.assert_array_equal(empty.scores[:, 0], [no_token] * BLOCK)
    for length, positions in (1, BLOCK), (BLOCK, BLOCK), (BLOCK + 1, 2 * BLOCK):
        inputs = tf.zeros([2, length, 3]), tf.ones([2, length], "bool")
        chain = Chain.of(*inputs, *map(tf.constant, problem[2:]))
        assert chain.scores.shape == (positions, 2, 4)
        assert tf.reduce_sum(tf.cast(chain.scores[..., 0] == 0.0, "int32")) == 2 * length


@pytest.mark.few(1)
@pytest.mark.parametrize("jit_compile", [False, True])
def test_nothing_is_below_the_impossible_and_nan_stays(jit_compile):
    lowest = np.float32(FORBIDDEN)
    rows = tf.constant([[-np.inf, -3e38], [np.nan, 5.0]])
    run = tf.function(Chain.of, jit_compile=jit_compile)
    chain = run(rows[None], tf.ones([1, 2], "bool"), rows, rows[0], rows[1])
    expected = np.array([[lowest, lowest], [np.nan, 5.0]])
    np.testing.assert_array_equal(chain.scores[-2:, 0, :2], expected)
    np.testing.assert_array_equal(chain.steps[:, :2], [*expected, expected[0]])
    np.testing.assert_array_equal(chain.ends[:2], expected[1])


def test_log_sum_exp_of_impossible_scores_is_impossible():
    x = tf.constant([[1.0, FORBIDDEN], [2.0, FORBIDDEN]])
    total = log_sum_exp(x, 0)
    assert_close(total, [np.logaddexp(1.0, 2.0), FORBIDDEN])
    assert is_possible(total).numpy().tolist() == [True, False]


def test_previous_values_pass_over_holes():
    mask = tf.constant([[0, 1, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0]]) > 0
    values = tf.constant([[9, 1, 9, 2, 3, 9]] * 2)
    previous, last = previous_values(values, mask, -1)
    assert previous.numpy().tolist() == [[-1, -1, 1, 1, 2, 3], [-1] * 6]
    assert last.numpy().tolist() == [3, -1]


def equal_chain():
    """Returns a chain with eight paths of score 0."""
    zeros, mask = tf.zeros([1, 4, 2]), tf.constant([[True, False, True, True]])
    return Chain.of(zeros, mask, tf.zeros([2, 2]), tf.zeros(2), tf.zeros(2))


def test_the_first_tag_wins_a_tie():
    tags, score = best_path(equal_chain())
    assert tags.numpy()[-3:, 0].tolist() == [0, 0, 0] and score.numpy().tolist() == [0.0]


def test_equal_paths_come_once_each():
    tags, scores = k_best_paths(equal_chain(), 8)
    paths = {tuple(path) for path in tags.numpy()[-3:, 0].T.tolist()}
    assert len(paths) == 8 and scores.numpy().tolist() == [[0.0] * 8]
