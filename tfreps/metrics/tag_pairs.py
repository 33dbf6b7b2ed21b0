"""Checks the tag ids that metrics receive, and computes precision, recall and F1 from counts."""

import tensorflow as tf


def tag_pairs(y_true, y_pred, sample_weight=None):
    """Checks the arguments of `update_state`; returns the ids, int32 `[B, T]`, and a mask.

    The mask is bool `[B, T]`, True on tokens whose weight is above 0; the weights, `[B, T]` or
    `[B]`, have no other effect.

    Example:
    >>> _, _, mask = tag_pairs([[0, 2]], [[0, 1]], sample_weight=[[True, False]])
    >>> mask.numpy().tolist()
    [[True, False]]
    """
    y_true = tf.convert_to_tensor(y_true)
    y_pred = tf.convert_to_tensor(y_pred)
    for name, ids in (("y_true", y_true), ("y_pred", y_pred)):
        if ids.shape.rank not in (None, 2):
            raise ValueError(
                f"`{name}` must be tag ids of shape [B, T]; got shape {tuple(ids.shape)}. "
                "Decode scores of shape [B, T, K] first, with `CRF.decode` or argmax."
            )
    y_true = tf.cast(y_true, "int32")
    y_pred = tf.cast(y_pred, "int32")
    if sample_weight is None:
        return y_true, y_pred, tf.ones_like(y_true, dtype=bool)
    mask = tf.convert_to_tensor(sample_weight)
    mask = mask if mask.dtype == tf.bool else mask > 0
    if mask.shape.rank == 1:
        mask = mask[:, None]
    return y_true, y_pred, tf.broadcast_to(mask, tf.shape(y_true))


def count_of_each(ids, size):
    """Returns how often each id from 0 to `size - 1` occurs, int64 `[size]`; ignores the id -1."""
    ids = tf.reshape(ids, [-1])
    return tf.math.unsorted_segment_sum(tf.ones_like(ids, dtype="int64"), ids, size)


def precision_recall_f1(correct, predicted, true):
    """Returns precision, recall and F1, float64 tensors of the shape of the counts; 0 / 0 is 0.

    Example:
    >>> [float(score) for score in precision_recall_f1(2, 4, 2)]
    [0.5, 1.0, 0.6666666666666666]
    """
    correct, predicted, true = (tf.cast(x, "float64") for x in (correct, predicted, true))
    return (
        tf.math.divide_no_nan(correct, predicted),
        tf.math.divide_no_nan(correct, true),
        tf.math.divide_no_nan(2.0 * correct, predicted + true),
    )
