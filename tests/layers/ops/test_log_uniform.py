"""Log-uniform draws are distinct, repeatable and distributed as in TensorFlow's sampler."""

import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import language_model as by_hand
from tests.closeness import assert_close
from tfreps._src.layers.ops import log_uniform
from tfreps._src.layers.ops.log_uniform import LogUniformSampler


def draws(sampler, number):
    draw = tf.function(sampler.draw, input_signature=[tf.TensorSpec([2], "int64")])
    return [draw(tf.constant([7, step], "int64")) for step in range(number)]


@pytest.mark.few(3)
@pytest.mark.parametrize("num_sampled, range_max", [(1, 2), (5, 6), (20, 100), (2048, 4158)])
def test_ids_are_distinct_and_in_range(num_sampled, range_max):
    sampler = LogUniformSampler(num_sampled, range_max)
    for ids, tries in draws(sampler, 20):
        assert ids.shape == (num_sampled,) and ids.dtype == tf.int64
        assert len(set(ids.numpy())) == num_sampled
        assert ids.numpy().min() >= 0 and ids.numpy().max() < range_max
        assert tries >= num_sampled


def test_equal_seeds_give_equal_draws_and_other_seeds_others():
    sampler = LogUniformSampler(20, 1000)
    first, second = sampler.draw([3, 4]), LogUniformSampler(20, 1000).draw([3, 4])
    np.testing.assert_array_equal(first[0], second[0])
    assert first[1] == second[1]
    for other in ([3, 5], [4, 4]):
        assert (sampler.draw(other)[0].numpy() != first[0].numpy()).any()
    compiled = tf.function(sampler.draw)(tf.constant([3, 4]))
    np.testing.assert_array_equal(compiled[0], first[0])


@pytest.mark.slow
def test_counts_are_those_of_the_theory():
    """Compares the count of each id over many draws with its expected count.

    Given `tries`, an id is in a sample with probability q(i), almost independently of other
    draws, so that (count - expected) / deviation is approximately standard normal.
    """
    size, number = 50, 3000
    sampler = LogUniformSampler(10, size)
    counts, expected, variance = np.zeros(size), np.zeros(size), np.zeros(size)
    for ids, tries in draws(sampler, number):
        counts[ids.numpy()] += 1
        q = np.array([by_hand.expected_count(i, size, int(tries)) for i in range(size)])
        expected += q
        variance += q * (1.0 - q)
    assert counts.sum() == 10 * number
    # The condition that the last try yields a new id slightly favors rare ids.
    deviations = (counts - expected) / np.sqrt(variance)
    assert np.abs(deviations).max() < 6.0
    assert counts[:10] == pytest.approx(expected[:10], rel=0.08)


@pytest.mark.slow
def test_counts_and_tries_are_those_of_tensorflows_sampler():
    """Compares both samplers with a chi-square test over ids and the mean number of tries."""
    # There are enough negatives that some id is always drawn twice. Without a repetition,
    # TensorFlow computes the expected count as p * tries, as if ids could repeat.
    size, sampled, number = 40, 16, 2000
    sampler = LogUniformSampler(sampled, size)
    ours, theirs = np.zeros(size), np.zeros(size)
    for ids, _ in draws(sampler, number):
        ours[ids.numpy()] += 1
    tf.random.set_seed(1)
    true, built_in = tf.zeros([1, 1], "int64"), tf.random.log_uniform_candidate_sampler

    @tf.function
    def draw():
        return built_in(true, num_true=1, num_sampled=sampled, unique=True, range_max=size)

    mean_expected = np.zeros(size)
    for _ in range(number):
        ids, _, expected = draw()
        theirs[ids.numpy()] += 1
        mean_expected[ids.numpy()] += expected.numpy()
    chi_square = ((ours - theirs) ** 2 / (ours + theirs)).sum()
    assert chi_square < 39 + 5 * np.sqrt(2 * 39)  # mean plus five standard deviations
    # Expected counts of the drawn ids in TensorFlow and in tfreps, over equally many draws.
    mean_ours = np.zeros(size)
    for ids, tries in draws(sampler, number):
        mean_ours[ids.numpy()] += np.exp(sampler.log_expected_count(ids, tries))
    ratio = (mean_ours / ours) / (mean_expected / theirs)
    assert ratio == pytest.approx(1.0, abs=0.05)


def test_expected_counts_are_those_of_the_formula():
    sampler = LogUniformSampler(20, 1000)
    ids, tries = np.array([0, 1, 10, 999]), 57
    expected = [np.log(by_hand.expected_count(i, 1000, tries)) for i in ids]
    assert_close(sampler.log_expected_count(ids, tries), expected)
    rare = LogUniformSampler(8192, 793470).log_expected_count([793469], 9000)
    exact = np.log(9000 * by_hand.log_uniform(793469, 793470))
    assert rare.numpy() == pytest.approx([exact], abs=0.01)  # no cancellation for rare ids


def test_tries_are_counted_up_to_the_last_new_id():
    """Repeats the draws one by one until there are enough distinct ids."""
    sampler = LogUniformSampler(5, 12)
    for step in range(30):
        ids, tries = sampler.draw([1, step])
        check_one_by_one(sampler, [1, step], ids, tries)


def check_one_by_one(sampler, seed, ids, tries):
    number = 0

    def uniform():
        nonlocal number
        while True:
            folded = tf.random.experimental.stateless_fold_in(
                tf.constant(seed, "int64"), tf.constant(number, "int64")
            )
            number += 1
            yield from tf.random.stateless_uniform([sampler.block], folded, dtype="float64").numpy()

    expected = by_hand.draw_negatives(uniform(), sampler.num_sampled, sampler.range_max)
    assert (ids.numpy().tolist(), int(tries)) == expected
    return number


def test_more_blocks_are_drawn_where_one_is_not_enough(monkeypatch):
    monkeypatch.setattr(log_uniform, "_block_size", lambda *_: 3)
    sampler = LogUniformSampler(8, 12)
    assert sampler.block == 3
    blocks = [check_one_by_one(sampler, [1, step], *sampler.draw([1, step])) for step in range(10)]
    assert min(blocks) >= 3 and len(set(blocks)) > 1
    ids, tries = draws(sampler, 1)[0]  # compiled
    check_one_by_one(sampler, [7, 0], ids, tries)


def test_one_block_is_nearly_always_enough():
    for num_sampled, range_max in ((20, 100), (2048, 4158), (99, 100)):
        sampler = LogUniformSampler(num_sampled, range_max)
        assert max(int(tries) for _, tries in draws(sampler, 50)) <= sampler.block
        assert sampler.block < 40 * num_sampled * np.log(range_max)


@pytest.mark.parametrize("num_sampled, range_max", [(10, 10), (11, 10), (0, 10), (-1, 10)])
def test_too_many_negatives(num_sampled, range_max):
    message = f"smaller than the vocabulary; got {num_sampled} for a vocabulary of {range_max}"
    with pytest.raises(ValueError, match=message):
        LogUniformSampler(num_sampled, range_max)
