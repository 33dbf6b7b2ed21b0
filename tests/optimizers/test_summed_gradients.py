import keras
import numpy as np
import tensorflow as tf

from tfreps._src.optimizers.summed_gradients import _all_parts, sum_gradients, with_distinct_rows
from tfreps.optimizers import GroupedOptimizer


def test_rows_with_the_same_index_are_summed():
    slices = tf.IndexedSlices(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([7, 3, 7]), [9, 1])
    found = with_distinct_rows(slices)
    assert sorted(zip(found.indices.numpy(), found.values.numpy()[:, 0], strict=True)) == [
        (3, 2.0),
        (7, 5.0),
    ]
    np.testing.assert_array_equal(tf.convert_to_tensor(found), tf.convert_to_tensor(slices))


def test_dense_gradients_stay_and_one_replica_changes_nothing():
    dense = tf.constant([1.0])
    assert with_distinct_rows(dense) is dense
    gradients = [dense, None]
    assert sum_gradients(gradients) is gradients


def test_all_optimizers_inside_an_optimizer_are_found():
    sgd = keras.optimizers.SGD
    grouped = GroupedOptimizer(sgd(1.0), {"a": sgd(1.0), "b": sgd(1.0)})
    assert list(_all_parts(grouped)) == [grouped, *grouped.optimizers]
    scaled = keras.optimizers.LossScaleOptimizer(sgd(1.0))
    assert list(_all_parts(scaled)) == [scaled, scaled.inner_optimizer]
    assert all(hasattr(part, "_all_reduce_sum_gradients") for part in _all_parts(scaled))
