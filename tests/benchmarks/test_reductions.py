import numpy as np
import pytest
import tensorflow as tf

from benchmarks import reductions
from tfreps.models import bilm_pretrainer
from tfreps.optimizers import summed_gradients


@pytest.fixture
def gradients():
    slices = tf.IndexedSlices(
        tf.ones([5, 2]), tf.constant([0, 3, 3, 7, 1], "int64"), tf.constant([9, 2])
    )
    return [tf.ones([3, 4]), slices, tf.ones([2], "float16")]


@pytest.fixture
def strategy():
    return tf.distribute.MirroredStrategy(["CPU:0"])


def test_bytes_of_dense_tensors_and_of_values_and_indices(gradients):
    assert reductions.count_bytes(gradients) == (3 * 4 * 4 + 2 * 2, 5 * 2 * 4 + 5 * 8)
    assert reductions.count_bytes([]) == (0, 0)


def test_only_dense_gradients_are_cast(gradients):
    assert reductions.cast(gradients[0], "bfloat16").dtype == tf.bfloat16
    assert reductions.cast(gradients[1], "bfloat16") is gradients[1]


def test_gradients_of_each_traced_step_are_recorded(gradients, strategy, monkeypatch):
    original = summed_gradients.sum_gradients
    with reductions.recorded_gradients() as steps, monkeypatch.context() as patch:
        patch.setattr(reductions, "num_replicas", lambda: 2)
        patch.setattr(summed_gradients, "num_replicas", lambda: 1)
        assert bilm_pretrainer.sum_gradients is summed_gradients.sum_gradients
        step = tf.function(lambda x: summed_gradients.sum_gradients([x, None, gradients[1]])[0])
        for value in 1.0, 2.0:
            assert step(tf.constant(value)).numpy() == value
    assert [float(dense) for dense, _ in steps] == [1.0, 2.0]
    np.testing.assert_array_equal(steps[1][1].indices, [0, 3, 3, 7, 1])
    assert summed_gradients.sum_gradients is bilm_pretrainer.sum_gradients is original


def test_one_replica_sums_and_records_nothing(gradients):
    with reductions.recorded_gradients() as steps:
        assert summed_gradients.sum_gradients(gradients) is gradients
    assert steps == []


@pytest.mark.parametrize("dtype", [None, "bfloat16"])
def test_seconds_are_the_median_of_the_timed_sums(gradients, strategy, dtype, monkeypatch):
    def timed(call, times):
        assert call() == 0.0
        return [9.0, 9.0, 3.0, 1.0, 2.0][:times]

    monkeypatch.setattr(reductions, "timed", timed)
    assert reductions.seconds_to_reduce(strategy, gradients, 3, dtype) == 2.0
    assert reductions.gathered_bytes(strategy, 5_000_000_000) == 5_000_000_000
