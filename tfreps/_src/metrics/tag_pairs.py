"""TagMetric: base of metrics that count tags, with checks of ids, and scores from counts."""

from collections.abc import Sequence
from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf

STATISTICS = ("precision", "recall", "f1")
Statistic = Literal["precision", "recall", "f1"]
# Values that `tf.convert_to_tensor` accepts.
TensorLike = tf.Tensor | np.ndarray | Sequence[Any] | float


class TagMetric(keras.metrics.Metric):
    """Base class of metrics that compare predicted tags with the tags of the data."""

    def _add_counts(self, shape: tuple[int, ...], *names: str) -> None:
        """Adds an int64 variable of zeros for each name, and stores it as an attribute."""
        for name in names:
            kind = {"initializer": "zeros", "dtype": "int64", "name": name}
            setattr(self, name, self.add_variable(shape, **kind))

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Adds the tokens of a batch to the counts.

        Args:
            y_true: int, shape `[B, T]`. Tag ids of the data.
            y_pred: int, shape `[B, T]`. Predicted tag ids.
            sample_weight: bool or float, shape `[B, T]` or `[B]`. True or above 0 for real tokens.
                If `None` (the default), all tokens are real.

        Raises:
            ValueError: If `y_true` or `y_pred` does not have the shape `[B, T]`, for example
                because scores are passed instead of ids.
        """
        self._count(*tag_pairs(y_true, y_pred, sample_weight))

    def _count(self, y_true: tf.Tensor, y_pred: tf.Tensor, mask: tf.Tensor) -> None:
        raise NotImplementedError


def tag_pairs(
    y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns the arguments of `update_state` after checking them.

    The results are the ids `y_true` and `y_pred`, int32 `[B, T]`, and a mask, bool `[B, T]`, True
    on tokens whose weight is above 0. The weights, `[B, T]` or `[B]`, have no other effect.
    """
    true = tf.convert_to_tensor(y_true)
    pred = tf.convert_to_tensor(y_pred)
    for name, ids in (("y_true", true), ("y_pred", pred)):
        if ids.shape.rank not in (None, 2):
            raise ValueError(
                f"`{name}` must be tag ids of shape [B, T]; got shape {tuple(ids.shape)}. "
                "Decode scores of shape [B, T, K] first, with `CRF.decode` or argmax."
            )
    true = tf.cast(true, "int32")
    pred = tf.cast(pred, "int32")
    if sample_weight is None:
        return true, pred, tf.ones_like(true, dtype="bool")
    mask = tf.convert_to_tensor(sample_weight)
    mask = mask if mask.dtype == tf.bool else mask > 0
    if mask.shape.rank == 1:
        mask = mask[:, None]
    return true, pred, tf.broadcast_to(mask, tf.shape(true))


def count_of_each(ids: tf.Tensor, size: int) -> tf.Tensor:
    """Returns how often each id from 0 to `size - 1` occurs, int64 `[size]`; ignores the id -1."""
    ids = tf.reshape(ids, [-1])
    return tf.math.unsorted_segment_sum(tf.ones_like(ids, dtype="int64"), ids, size)


def precision_recall_f1(
    correct: tf.Tensor, predicted: tf.Tensor, true: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Returns precision, recall and F1, float64 tensors of the shape of the counts; 0 / 0 is 0."""
    correct, predicted, true = (tf.cast(x, "float64") for x in (correct, predicted, true))
    return (
        tf.math.divide_no_nan(correct, predicted),
        tf.math.divide_no_nan(correct, true),
        tf.math.divide_no_nan(2.0 * correct, predicted + true),
    )
