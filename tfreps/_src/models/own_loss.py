"""Losses that models compute themselves: their arguments, targets and logs."""

import keras
import tensorflow as tf

from tfreps._src.layers.ops.masks import checked_targets
from tfreps._src.layers.ops.replicas import num_replicas, sum_over_replicas

METRICS = "metrics", "weighted_metrics"
BATCH_WEIGHT = "batch_weight"  # name of a feature that `tfreps.data.SequenceBatches` adds
_LOSS = "The model computes its loss itself: call `compile(optimizer)`."
_METRICS = (
    "The model logs its metrics itself: omit the argument, and compute other metrics from the "
    "output of `predict` or of the model."
)
_IN_FEATURES = "The targets and their weights are part of the features."
# Values of `TrainingMethods._unused_arguments`: for models that compute their loss and metrics
# themselves, and for those of them whose targets are part of the features.
OWN_LOSS = {
    **dict.fromkeys(("loss", "loss_weights"), _LOSS),
    **dict.fromkeys(METRICS, _METRICS),
}
TARGETS_IN_FEATURES = {
    **OWN_LOSS,
    "sample_weight": _IN_FEATURES,
    "class_weight": _IN_FEATURES,
}


def features_of(data, model):
    """Returns the features of a batch. Raises a ValueError if the batch has `y` or weights."""
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
    if y is not None or sample_weight is not None:
        raise ValueError(
            f"A batch for a {type(model).__name__} must be a dict of features without `y` and "
            f"`sample_weight`; got a batch with them. {_IN_FEATURES}"
        )
    return x


def checked_y(y, shape, axes, num_classes, mask=None):
    """Returns `y` as int32, 0 where masked, after checking its shape and range.

    `axes` is the expected shape in the error message, such as `"[B, T]"`.
    """
    is_ragged = isinstance(y, tf.RaggedTensor)
    y = y if is_ragged or y is None else tf.convert_to_tensor(y)
    known = y is not None and y.shape.rank is not None
    if not known or is_ragged or y.dtype == tf.string or not y.shape.is_compatible_with(shape):
        kind = "ragged " if is_ragged else ""
        got = y if y is None else f"{kind}{y.dtype.name} of shape {y.shape}"
        raise ValueError(
            f"`y` must be integer ids of shape {axes}, here {shape}; got {got}. Replace names by "
            "their ids, pad ragged ids with `y.to_tensor(0)`, remove a last axis of size 1 with "
            "`y[..., 0]`, and convert one-hot rows with `np.argmax(y, -1)`."
        )
    return checked_targets("y", y, num_classes, mask)


def with_penalty(model, loss, rows, x, logged=None, divisor=None):
    """Updates the logged loss, and returns this replica's part of the loss with penalties.

    Args:
        model: A model with a `sentence_loss`.
        loss: float32 scalar. Mean loss of the rows of this replica, without penalties.
        rows: int. Number of rows of this replica.
        x: The features of the batch.
        logged: tuple `(mean loss, number)` of the rows that the logs include. If `None` (the
            default), the logs include all rows.
        divisor: number. This replica's part of the number by which the sum over the rows is
            divided in the returned loss. If `None` (the default), it is `rows`. The logged loss is
            always the mean over rows.

    Returns:
        float32 scalar. The sum over all replicas is the loss of the global batch.
    """
    penalty = sum(tf.cast(term, "float32") for term in model.losses)
    batch_weight = x.get(BATCH_WEIGHT) if isinstance(x, dict) else None
    part, *logged = over_replicas(loss, rows, logged or (loss, rows), batch_weight, divisor)
    model.sentence_loss.update_state(*logged, penalty)
    return part + penalty / num_replicas()


def mean_of_rows(losses):
    """Returns the mean of the losses `[B]`, 0 if there are none.

    A replica has no rows if the last batch of an epoch has fewer rows than there are replicas.
    """
    count = tf.cast(tf.maximum(tf.size(losses), 1), losses.dtype)
    return tf.reduce_sum(losses) / count


def over_replicas(loss, rows, logged, batch_weight=None, divisor=None):
    """Returns this replica's part of the loss, and arguments for `SentenceLoss.update_state`.

    Args:
        loss: float32 scalar. Mean loss of the rows of this replica.
        rows: int. Number of rows of this replica.
        logged: tuple `(mean loss, number)` of the rows of this replica that the logs include.
        batch_weight: float32. Weights of the rows of this replica, or `None`.
        divisor: number. This replica's part of the divisor of the sum over all rows, or `None` for
            `rows`.

    Returns:
        Tuple of four values:

        - `loss * rows / (divisor of all replicas)`. With `divisor=None`, the sum over all replicas
          is the mean loss.
        - The mean loss of the logged rows of all replicas.
        - The number of logged rows of this replica.
        - The mean of `batch_weight` over all replicas, `[1]`, or `None`.

        With one replica and `divisor=None`, the tuple is `(loss, *logged, batch_weight)`.
    """
    rows = tf.cast(rows, "float32")
    divisor = rows if divisor is None else tf.cast(divisor, "float32")
    if num_replicas() == 1:
        part = loss if divisor is rows else loss * rows / tf.maximum(divisor, 1.0)
        return part, *logged, batch_weight
    mean, count = logged[0], tf.cast(logged[1], "float32")
    weights = rows if batch_weight is None else tf.reduce_sum(batch_weight)
    values = [rows, divisor, count, count * mean, weights]
    sums = sum_over_replicas(tf.stop_gradient(tf.stack(values)))
    all_rows, divisors, all_counted, loss_sum, weight_sum = tf.unstack(sums)
    all_rows, divisors = tf.maximum(all_rows, 1.0), tf.maximum(divisors, 1.0)
    mean_weight = None if batch_weight is None else (weight_sum / all_rows)[None]
    return loss * rows / divisors, loss_sum / tf.maximum(all_counted, 1.0), count, mean_weight
