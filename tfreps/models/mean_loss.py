"""Mean loss of a batch whose rows are divided among the replicas of `tf.distribute`."""

import tensorflow as tf

from tfreps.layers.ops.replicas import num_replicas, sum_over_replicas


def mean_of_rows(losses):
    """Returns the mean of the losses `[B]`, 0 if there are none.

    A replica has no rows if the last batch of an epoch has fewer rows than there are replicas.
    """
    count = tf.cast(tf.maximum(tf.size(losses), 1), losses.dtype)
    return tf.reduce_sum(losses) / count


def over_replicas(loss, rows, sample_weight=None):
    """Returns this replica's part of the loss, and arguments for `SentenceLoss.update_state`.

        part_r = loss_r * rows_r / sum over replicas of rows

    Args:
        loss: float32 scalar. Mean loss of this replica's rows.
        rows: int scalar. Number of rows of this replica.
        sample_weight: float, shape `[B]` or `[B, T]`. Weights of the rows or of their tokens.
            Defaults to `None`.

    Returns:
        Tuple `(part, loss, sample_weight)`. `part` is this replica's part of the loss: the sum of
        the parts of all replicas is `loss`, the mean loss of the global batch. `sample_weight` is
        float32 `[1]`, the mean weight of the rows of the global batch, or `None` if the argument
        does not have the shape `[B]`. With one replica, `part` and `loss` are the argument `loss`,
        and `sample_weight` is returned unchanged.
    """
    if num_replicas() == 1:
        return loss, loss, sample_weight
    rows = tf.cast(rows, "float32")
    is_per_row = sample_weight is not None and sample_weight.shape.rank == 1
    weights = tf.reduce_sum(tf.cast(sample_weight, "float32")) if is_per_row else rows
    total, loss_sum, weight_sum = tf.unstack(
        sum_over_replicas(tf.stop_gradient(tf.stack([rows, rows * loss, weights])))
    )
    total = tf.maximum(total, 1.0)
    mean_weight = (weight_sum / total)[None] if is_per_row else None
    return loss * rows / total, loss_sum / total, mean_weight
