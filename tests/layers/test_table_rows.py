"""Rows of a table: values, gradients, ids out of range."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfreps.layers.table_rows import table_rows

TABLE = np.arange(8, dtype="float32").reshape(4, 2)
IDS = np.array([[3, 0, 3], [1, 3, 0]])


def test_values():
    np.testing.assert_array_equal(table_rows(tf.constant(TABLE), tf.constant(IDS)), TABLE[IDS])
    assert table_rows(tf.constant(TABLE), tf.zeros([2, 0], "int32")).shape == (2, 0, 2)


def test_the_gradient_has_each_row_once():
    table = keras.Variable(TABLE)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(table_rows(table, tf.constant(IDS)))
    gradient = tape.gradient(y, table.value)
    assert isinstance(gradient, tf.IndexedSlices)
    assert sorted(gradient.indices.numpy().tolist()) == [0, 1, 3]
    np.testing.assert_array_equal(tf.convert_to_tensor(gradient)[:, 0], [2, 1, 0, 3])


@pytest.mark.parametrize("wrong", [-1, 4])
def test_ids_out_of_range(wrong):
    with pytest.raises(tf.errors.InvalidArgumentError, match="ids must lie in 0..3"):
        table_rows(tf.constant(TABLE), tf.constant([0, wrong]))
