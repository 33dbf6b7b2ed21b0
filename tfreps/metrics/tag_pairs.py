"""Checks and aligns the tag ids that metrics are updated with."""

import tensorflow as tf


def tag_pairs(y_true, y_pred, sample_weight=None):
    """Brings the arguments of `update_state` into one form.

    Args:
        y_true: integer, shape `[B, T]`. The tag ids of the data.
        y_pred: integer, shape `[B, T]`. The tag ids of the model.
        sample_weight: bool or float, shape `[B, T]` or `[B]`, or None. Where it is not above 0,
            the token is left out; the weights are not used otherwise.

    Returns:
        int32 `[B, T]`, int32 `[B, T]`, bool `[B, T]`.

    Raises:
        ValueError: scores instead of ids.

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
                f"`{name}` must be tag ids of shape [B, T]; got shape {tuple(ids.shape)}. Scores "
                "[B, T, K] have to be decoded first, by `CRF.decode` or by argmax."
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


def precision_recall_f1(correct, predicted, true):
    """Precision, recall and F1 of counts, float64; 0 where a denominator is 0.

    Args:
        correct: number of things that are in both.
        predicted: number of things that the model names.
        true: number of things in the data.

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
