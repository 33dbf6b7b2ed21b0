"""The recursion itself: its ways of adding, its order, what it does where the mask is False."""

import numpy as np
import tensorflow as tf

from tests.layers.chain_paths_oracle import MASKS, Problem
from tfreps.layers.chain_recursion import (
    FORBIDDEN,
    Chain,
    is_possible,
    log_sum_exp,
    previous_values,
    recur,
    suffix_scores,
)


def test_recur_goes_both_ways():
    def step(state, x):
        return (10 * state[0] + x,), (state[0],)

    x = tf.constant([[1], [2], [3]])
    outputs = [tf.TensorSpec([None], "int32")]
    (last,), (seen,) = recur(step, (tf.constant([0]),), [x], outputs)
    assert last.numpy().tolist() == [123] and seen.numpy().tolist() == [[0], [1], [12]]
    (last,), (seen,) = recur(step, (tf.constant([0]),), [x], outputs, reverse=True)
    assert last.numpy().tolist() == [321] and seen.numpy().tolist() == [[32], [3], [0]]


def test_one_recursion_gives_sums_and_maxima():
    problem = Problem.random(MASKS)
    chain = Chain.of(*(tf.constant(x) for x in problem))
    for plus, expected in (
        (log_sum_exp, problem.log_normalizer),
        (tf.reduce_max, lambda row: problem.best(row)[0][1]),
    ):
        suffixes, scales, total = suffix_scores(chain, plus)
        assert suffixes.shape == (5, len(MASKS), 4) and scales.shape == (4, len(MASKS), 1)
        rows = [expected(row) for row in range(len(MASKS))]
        np.testing.assert_allclose(total, rows, rtol=1e-6, atol=1e-6)


def test_suffixes_stay_small_however_long_the_sentence():
    problem = Problem.random(np.ones([2, 300]), scale=5.0)
    problem.emissions[:] += 100.0
    chain = Chain.of(*(tf.constant(x) for x in problem))
    suffixes, _, total = suffix_scores(chain, log_sum_exp)
    assert tf.reduce_max(tf.abs(suffixes[:, :, :-1])) < 100.0 < 3e4 < total[0]


def test_a_chain_has_one_state_more_and_one_position_at_least():
    problem = Problem.random([[1, 0]])
    chain = Chain.of(*(tf.constant(x) for x in problem))
    assert chain.scores.shape == (2, 1, 4) and chain.num_states == 4
    lowest = np.float32(FORBIDDEN)
    np.testing.assert_array_equal(chain.scores[0, 0], [*problem.emissions[0, 0], lowest])
    np.testing.assert_array_equal(chain.scores[1, 0], [0.0, 0.0, 0.0, lowest])  # NaN before
    np.testing.assert_array_equal(chain.steps[:3, :3], problem.transitions)
    np.testing.assert_array_equal(chain.steps[3, :3], problem.start)
    np.testing.assert_array_equal(chain.steps[:, 3], lowest)
    np.testing.assert_array_equal(chain.before_the_first(), [[0.0, 0.0, 0.0, 1.0]])
    empty = Chain.of(tf.zeros([1, 0, 3]), tf.zeros([1, 0], "bool"), *map(tf.constant, problem[2:]))
    assert empty.scores.shape == (1, 1, 4) and not empty.mask.numpy().any()


def test_log_sum_exp_of_impossible_scores_is_impossible():
    x = tf.constant([[1.0, FORBIDDEN], [2.0, FORBIDDEN]])
    total = log_sum_exp(x, 0)
    np.testing.assert_allclose(total, [np.logaddexp(1.0, 2.0), FORBIDDEN], rtol=1e-6)
    assert is_possible(total).numpy().tolist() == [True, False]


def test_previous_values_pass_over_holes():
    mask = tf.constant([[0, 1, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0]]) > 0
    values = tf.constant([[9, 1, 9, 2, 3, 9]] * 2)
    previous, last = previous_values(values, mask, -1)
    assert previous.numpy().tolist() == [[-1, -1, 1, 1, 2, 3], [-1] * 6]
    assert last.numpy().tolist() == [3, -1]
