"""AUC: area under the ROC curve of a binary classifier."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.metrics.tag_pairs import TensorLike

RESOLUTION = 2.0**-11  # scores that round to the same multiple count as equal
LARGEST = 16.0
_BINS = int(2 * LARGEST / RESOLUTION) + 1


@keras.saving.register_keras_serializable(package="tfreps")
class AUC(keras.metrics.Metric):
    """Area under the ROC curve, computed from the scores of all batches together.

        auc = P(score+ > score-) + P(score+ = score-) / 2

    `score+` is the score of a text with label 1, and `score-` is the score of a text with label 0.
    The probabilities are over all pairs of such texts. The scores are rounded to multiples of 2^-11
    (about 0.0005) and clipped to [-16, 16]. The metric therefore stores only a table of counts, and
    scores that differ only by float rounding almost always count as equal.

    Args:
        name: str. Name of the metric. Defaults to `"auc"`.
        dtype: str. Dtype of the metric. If `None` (the default), it is `keras.config.floatx()`.

    Reference: Hanley and McNeil, 1982, "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve".

    Example:
    >>> metric = AUC()
    >>> metric.update_state([1, 0, 1, 0], [2.0, 1.0, 0.5, -3.0])
    >>> float(metric.result())        # 3 of the 4 pairs are ranked correctly
    0.75
    """

    def __init__(self, name: str = "auc", dtype: str | None = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.counts: keras.Variable = self.add_variable(
            (2, _BINS), "zeros", dtype="int64", name="counts"
        )

    def update_state(
        self, y_true: TensorLike, y_pred: TensorLike, sample_weight: TensorLike | None = None
    ) -> None:
        """Adds the scores of a batch to the counts.

        Args:
            y_true: int, shape `[B]`. Labels, 0 or 1.
            y_pred: float, shape `[B]`. Unbounded scores, such as the difference of two logits. NaN
                scores are ignored.
            sample_weight: float, shape `[B]`. Texts whose weight is not above 0 are ignored, and
                all others count equally. If `None` (the default), all texts count.
        """
        labels = tf.cast(tf.reshape(y_true, [-1]), "int32")
        scores = tf.cast(tf.reshape(y_pred, [-1]), "float32")
        is_number = scores == scores
        scores = tf.clip_by_value(tf.where(is_number, scores, 0.0), -LARGEST, LARGEST)
        bins = tf.cast(tf.round(scores / RESOLUTION), "int32") + _BINS // 2
        seen = tf.cast(is_number, "int64")
        if sample_weight is not None:
            seen *= tf.cast(tf.reshape(sample_weight, [-1]) > 0, "int64")
        positions = tf.stack([labels, bins], axis=1)  # [B, 2]
        # The table is large, so it is updated in place. The variable of a replica has no
        # `scatter_nd_add`.
        tf.raw_ops.ResourceScatterNdAdd(ref=self.counts.handle, indices=positions, updates=seen)

    def result(self) -> tf.Tensor:
        """Returns the area under the curve, a float32 scalar. It is 0.5 until both labels occur."""
        negative, positive = tf.unstack(tf.cast(self.counts.value, "float64"))
        # Number of negatives below each bin, plus half the number of negatives in the bin.
        below = tf.cumsum(negative, exclusive=True) + negative / 2.0
        pairs = tf.reduce_sum(negative) * tf.reduce_sum(positive)
        won = tf.reduce_sum(positive * below)
        return tf.cast(tf.where(pairs > 0, tf.math.divide_no_nan(won, pairs), 0.5), "float32")
