"""Checks the tag ids that metrics receive, and computes precision, recall and F1 from counts."""

import tensorflow as tf


def tag_pairs(y_true, y_pred, sample_weight=None):
    """Checks the arguments of `update_state` and converts them to a common form.

    Args:
        y_true: int, shape `[B, T]`. Tag ids of the data.
        y_pred: int, shape `[B, T]`. Predicted tag ids.
        sample_weight: bool or float, shape `[B, T]` or `[B]`. Tokens whose weight is not above 0
            are ignored; the weights have no other effect. If `None` (the default), all tokens
            count.

    Returns:
        Tuple `(y_true, y_pred, mask)`. `y_true` and `y_pred` are int32 `[B, T]`. `mask` is bool
        `[B, T]`, True on tokens that count.

    Raises:
        ValueError: If `y_true` or `y_pred` does not have the shape `[B, T]`, for example because
            scores are passed instead of ids.

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
    """Computes precision, recall and F1 from counts.

    Args:
        correct: int, any shape. Number of items in both the predictions and the data.
        predicted: int, same shape as `correct`. Number of items in the predictions.
        true: int, same shape as `correct`. Number of items in the data.

    Returns:
        Tuple `(precision, recall, f1)` of float64 tensors of that shape. Each is 0 where its
        denominator is 0.

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
