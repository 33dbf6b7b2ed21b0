"""Recursions and best paths of chains against loops."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.layers.ops.chain_paths_oracle import MASKS, Problem
from tfreps._src.layers.ops.chain_recursion import (
    BLOCK,
    FORBIDDEN,
    Chain,
    best_path,
    is_possible,
    k_best_paths,
    log_sum_exp,
    previous_values,
    recur,
    suffix_scores,
)


@pytest.mark.parametrize("length", [BLOCK, 3 * BLOCK])
@pytest.mark.parametrize("reverse", [False, True])
def test_recur_is_a_loop_over_all_positions(length, reverse):
    def step(state, x):
        after = (3 * state[0] + x) % 1000
        return (after,), (state[0], after)

    numbers = np.arange(1, length + 1)
    state, before, after = 7, {}, {}
    for t in range(length)[::-1] if reverse else range(length):
        before[t], state = state, (3 * state + numbers[t]) % 1000
        after[t] = state
    spec = tf.TensorSpec([None], "int32")
    inputs = [tf.constant(numbers[:, None], "int32")]
    (last,), seen = recur(step, (tf.constant([7]),), inputs, [spec, spec], reverse)
    assert last.numpy().tolist() == [state]
    for values, expected in zip(seen, (before, after), strict=True):
        assert values.numpy().tolist() == [[expected[t]] for t in range(length)]


def test_one_recursion_gives_sums_and_maxima():
    problem = Problem.random(MASKS)
    chain = Chain.of(*(tf.constant(x) for x in problem))
    for plus, expected in (
        (log_sum_exp, problem.log_normalizer),
        (tf.reduce_max, lambda row: problem.best(row)[0][1]),
    ):
        suffixes, scales, total = suffix_scores(chain, plus)
        shapes = (BLOCK + 1, len(MASKS), 4), (BLOCK, len(MASKS), 1)
        assert (suffixes.shape, scales.shape) == shapes
        rows = [expected(row) for row in range(len(MASKS))]
        assert_close(total, rows)


def test_suffixes_stay_small_however_long_the_sentence():
    problem = Problem.random(np.ones([2, 300]), scale=5.0)
    problem.emissions[:] += 100.0
    chain = Chain.of(*(tf.constant(x) for x in problem))
    suffixes, _, total = suffix_scores(chain, log_sum_exp)
    assert tf.reduce_max(tf.abs(suffixes[:, :, :-1])) < 100.0 < 3e4 < total[0]


def test_a_chain_has_one_state_more_and_whole_blocks():
    problem = Problem.random([[1, 0]])
    chain = Chain.of(*(tf.constant(x) for x in problem))
    assert chain.scores.shape == (BLOCK, 1, 4) and chain.num_states == 4
    np.testing.assert_array_equal(chain.mask[:, 0, 0], [True] + (BLOCK - 1) * [False])
    lowest = np.float32(FORBIDDEN)
    np.testing.assert_array_equal(chain.scores[0, 0], [*problem.emissions[0, 0], lowest])
    np.testing.assert_array_equal(chain.scores[1, 0], [0.0, 0.0, 0.0, lowest])  # replaces NaN
    np.testing.assert_array_equal(chain.steps[:3, :3], problem.transitions)
    np.testing.assert_array_equal(chain.steps[3, :3], problem.start)
    np.testing.assert_array_equal(chain.steps[:, 3], lowest)
    np.testing.assert_array_equal(chain.before_the_first(), [[0.0, 0.0, 0.0, 1.0]])
    empty = Chain.of(tf.zeros([1, 0, 3]), tf.zeros([1, 0], "bool"), *map(tf.constant, problem[2:]))
    assert empty.scores.shape == (BLOCK, 1, 4) and not empty.mask.numpy().any()
    for length, positions in (1, BLOCK), (BLOCK, BLOCK), (BLOCK + 1, 2 * BLOCK):
        inputs = tf.zeros([2, length, 3]), tf.ones([2, length], "bool")
        chain = Chain.of(*inputs, *map(tf.constant, problem[2:]))
        assert chain.scores.shape == (positions, 2, 4) and chain.mask.shape == (positions, 2, 1)
        assert tf.reduce_sum(tf.cast(chain.mask, "int32")) == 2 * length
    unread = Chain.of(*map(tf.constant, problem), readable=tf.zeros([1, 2], "bool"))
    assert not unread.scores[0, 0, :3].numpy().any() and unread.mask[0, 0, 0]


@pytest.mark.parametrize("jit_compile", [False, True])
def test_nothing_is_below_the_impossible_and_nan_stays(jit_compile):
    lowest = np.float32(FORBIDDEN)
    rows = tf.constant([[-np.inf, -3e38], [np.nan, 5.0]])
    run = tf.function(Chain.of, jit_compile=jit_compile)
    chain = run(rows[None], tf.ones([1, 2], "bool"), rows, rows[0], rows[1])
    expected = np.array([[lowest, lowest], [np.nan, 5.0]])
    np.testing.assert_array_equal(chain.scores[:2, 0, :2], expected)
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
    assert tags.numpy()[[0, 2, 3], 0].tolist() == [0, 0, 0] and score.numpy().tolist() == [0.0]


def test_equal_paths_come_once_each():
    tags, scores = k_best_paths(equal_chain(), 8)
    paths = {tuple(path) for path in tags.numpy()[[0, 2, 3], 0].T.tolist()}
    assert len(paths) == 8 and scores.numpy().tolist() == [[0.0] * 8]
