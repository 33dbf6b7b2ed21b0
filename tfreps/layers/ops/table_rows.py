"""Lookup of table rows by id, with gradients that optimizers can use."""

import numpy as np
import tensorflow as tf


def table_rows(table, ids):
    """Looks up `ids` in a table, with a sparse gradient that contains each row at most once.

    Optimizers square the rows of a sparse gradient, so the gradients of all occurrences of an id
    must be summed first.

    Args:
        table: variable or tensor, float, shape `[V, D]`.
        ids: int, any shape. Each id is in `0..V-1`.

    Returns:
        float, shape `[..., D]`.

    Raises:
        tf.errors.InvalidArgumentError: If an id is out of range, on CPUs and on GPUs.

    Example:
    >>> table_rows(tf.constant([[0.0], [7.0], [8.0]]), tf.constant([[2, 2, 1]])).numpy().tolist()
    [[[8.0], [8.0], [7.0]]]
    """
    size = table.shape[0]
    return rows_of_distinct(
        lambda distinct: tf.gather(tf.convert_to_tensor(table), distinct), ids, size
    )


def rows_of_distinct(look_up, ids, size):
    """Looks up ids by calling a function once with the distinct ids.

    Args:
        look_up: function that maps int `[U]` to float `[U, D]`, for example a Keras embedding
            layer.
        ids: int, any shape. Each id is in `0..size-1`.
        size: int. Number of possible ids.

    Returns:
        float, shape `[..., D]`.

    Raises:
        tf.errors.InvalidArgumentError: If an id is out of range, on CPUs and on GPUs.

    Example:
    >>> rows_of_distinct(lambda ids: 1.0 / tf.cast(ids[:, None], "float32"), [[2, 4]], 5).numpy()
    array([[[0.5 ],
            [0.25]]], dtype=float32)
    """
    ids = tf.convert_to_tensor(ids)
    distinct, which = tf.unique(tf.reshape(ids, [-1]))  # [U], [N]
    in_range = tf.reduce_all(tf.logical_and(distinct >= 0, distinct < size))
    check = tf.debugging.assert_equal(in_range, True, f"All ids must lie in 0..{size - 1}.")
    with tf.control_dependencies([] if check is None else [check]):
        distinct = tf.identity(distinct)
    rows = look_up(distinct)  # [U, D]
    shape = tf.concat([tf.shape(ids), tf.shape(rows)[1:]], 0)
    rows = tf.reshape(tf.gather(rows, which), shape)
    return tf.ensure_shape(rows, [*ids.shape, rows.shape[-1]])


def rows_of_short_table(table, ids, message):
    """Looks up `ids` in a table of a few hundred rows, with a dense gradient.

    Args:
        table: variable or tensor, float, shape `[N, D]`.
        ids: int, any shape. Each id is in `0..N-1`.
        message: str. Error message for ids out of range.

    Returns:
        float32, shape `[..., D]`.

    Raises:
        tf.errors.InvalidArgumentError: If an id is out of range. XLA drops this check; the rows
            of these ids are then NaN.

    Example:
    >>> rows_of_short_table(tf.constant([[0.0], [7.0]]), tf.constant([1, 1]), "0..1").numpy()[0]
    array([7.], dtype=float32)
    """
    ids = tf.convert_to_tensor(ids)
    size = table.shape[0]
    in_range = tf.logical_and(ids >= 0, ids < size)
    check = tf.debugging.assert_equal(tf.reduce_all(in_range), True, message)
    with tf.control_dependencies([] if check is None else [check]):
        inside = tf.clip_by_value(ids, 0, size - 1)

    @tf.custom_gradient
    def look_up(table):
        def gradient(d):
            return tf.math.unsorted_segment_sum(d, inside, size)

        return tf.gather(table, inside), gradient

    return tf.where(in_range[..., None], look_up(tf.cast(table, "float32")), np.nan)
