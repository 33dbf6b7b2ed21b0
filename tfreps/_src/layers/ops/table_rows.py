"""Lookup of table rows by id, with gradients that optimizers can use."""

import numpy as np
import tensorflow as tf

from tfreps._src.layers.ops.masks import checked_ids
from tfreps._src.layers.ops.portable import is_portable


def table_rows(table, ids):
    """Returns the rows of a table for `ids`, `[..., D]`, with a sparse gradient.

    The gradient contains each row of the table at most once. Optimizers square the rows of a sparse
    gradient, so the gradients of all occurrences of an id must be summed first. An id out of range
    raises an InvalidArgumentError, also on GPUs.
    """
    return rows_of_distinct(
        lambda distinct: tf.gather(tf.convert_to_tensor(table), distinct), ids, table.shape[0]
    )


def rows_of_distinct(look_up, ids, size):
    """Returns the rows of `ids`, `[..., D]`, from one call of `look_up` with the distinct ids.

    `look_up` maps int `[U]` to `[U, D]`. An id outside 0 to `size - 1` raises an
    InvalidArgumentError, also on GPUs.
    """
    ids = tf.convert_to_tensor(ids)
    distinct, which = distinct_rows(tf.reshape(ids, [-1]))  # [U], [N]
    message = f"All ids must lie in 0..{size - 1}. Create them with the vocabulary of this model."
    rows = look_up(checked_ids(distinct, size, message))  # [U, D]
    shape = tf.concat([tf.shape(ids), tf.shape(rows)[1:]], 0)
    rows = tf.reshape(tf.gather(rows, which), shape)
    return tf.ensure_shape(rows, [*ids.shape, rows.shape[-1]])


def distinct_rows(ids):
    """Returns the distinct rows of `ids`, `[U, ...]`, and an index of each row, int32 `[N]`.

    `ids` are int `[N, ...]` and equal `tf.gather(distinct_rows, indices)`. In a portable graph, all
    rows are returned, with the indices 0 to N - 1.
    """
    if is_portable():
        return ids, tf.range(tf.shape(ids)[0])
    if ids.shape.rank == 1:
        return tf.unique(ids)  # unlike UniqueV2, it has a GPU kernel
    return tf.raw_ops.UniqueV2(x=ids, axis=[0])


def rows_of_short_table(table, ids, message):
    """Returns the rows of a short table, `[N, D]`, for `ids`: `[..., D]`, with a dense gradient.

    An id out of range raises an InvalidArgumentError with `message`. XLA drops this check; the rows
    of these ids are then NaN.
    """
    ids = tf.convert_to_tensor(ids)
    size = table.shape[0]
    inside = tf.clip_by_value(checked_ids(ids, size, message), 0, size - 1)

    @tf.custom_gradient
    def look_up(table):
        def gradient(d):
            return tf.math.unsorted_segment_sum(d, inside, size)

        return tf.gather(table, inside), gradient

    return tf.where(tf.expand_dims(ids == inside, -1), look_up(tf.cast(table, "float32")), np.nan)
