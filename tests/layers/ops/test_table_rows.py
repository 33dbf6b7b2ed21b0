"""Table rows: values, gradients and ids out of range."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfreps._src.layers.ops.table_rows import rows_of_short_table, table_rows

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


def test_short_tables_have_a_dense_gradient():
    table = keras.Variable(TABLE)
    with tf.GradientTape() as tape:
        rows = rows_of_short_table(table, tf.constant(IDS), "0..3")
        y = tf.reduce_sum(rows)
    np.testing.assert_array_equal(rows, TABLE[IDS])
    gradient = tape.gradient(y, table.value)
    assert isinstance(gradient, tf.Tensor)
    np.testing.assert_array_equal(gradient[:, 0], [2, 1, 0, 3])


@pytest.mark.parametrize("wrong", [-1, 4])
def test_ids_out_of_range_of_a_short_table(wrong):
    ids = tf.constant([0, wrong])
    with pytest.raises(tf.errors.InvalidArgumentError, match="only 0..3"):
        rows_of_short_table(tf.constant(TABLE), ids, "only 0..3")
    compiled = tf.function(rows_of_short_table, jit_compile=True)
    rows = compiled(tf.constant(TABLE), ids, "only 0..3").numpy()
    np.testing.assert_array_equal(rows, [TABLE[0], [np.nan, np.nan]])
