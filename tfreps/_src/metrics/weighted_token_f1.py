"""WeightedTokenF1: average score of the tags, weighted by how often each tag occurs."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice, check_integers
from tfreps._src.metrics.tag_pairs import (
    STATISTICS,
    Statistic,
    TagMetric,
    count_of_each,
    precision_recall_f1,
)


@keras.saving.register_keras_serializable(package="tfreps")
class WeightedTokenF1(TagMetric):
    """Mean precision, recall or F1 of the tags, weighted by their frequency in the data.

        precision[k] = correct[k] / predicted[k];  recall[k] = correct[k] / true[k]
        f1[k] = 2 precision[k] recall[k] / (precision[k] + recall[k] + 1e-10)
        result = sum_k(true[k] * statistic[k]) / sum_k(true[k])

    For tag `k`, `predicted` and `true` are the numbers of tokens that have it in the predictions
    and in the data, and `correct` is the number of tokens that have it in both. `"recall"` is
    therefore the accuracy over tokens, and `"f1"` is not the harmonic mean of the other two. Tags
    that do not occur in the data have no weight. The precision of a tag that is never predicted is
    0.

    Args:
        num_tags: int. Number of tags, `K`.
        outside_id: int. Id of the tag `O`; tokens that have it in the data are ignored. If `None`
            (the default), all tokens count, as in the reference's published results.
        statistic: `"precision"`, `"recall"` or `"f1"`. Score that is averaged. Defaults to `"f1"`.
        name: str. Name of the metric. Defaults to `"weighted_token_f1"`.
        dtype: str. Dtype of the metric. If `None` (the default), it is `keras.config.floatx()`.

    Raises:
        ValueError: If an option is invalid.

    Reference: luopeixiang/named_entity_recognition, `Metrics` (which raises ZeroDivisionError for a
    tag that is never predicted).

    Example:
    >>> metric = WeightedTokenF1(num_tags=3, statistic="recall")
    >>> metric.update_state([[0, 0, 1, 2]], [[0, 0, 2, 2]])
    >>> float(metric.result())
    0.75
    """

    correct: keras.Variable
    predicted: keras.Variable
    true: keras.Variable

    def __init__(
        self,
        num_tags: int,
        outside_id: int | None = None,
        statistic: Statistic = "f1",
        name: str = "weighted_token_f1",
        dtype: str | None = None,
        **kwargs: Any,
    ) -> None:
        check_integers(1, num_tags=num_tags)
        check_choice(STATISTICS, statistic=statistic)
        if outside_id is not None and not 0 <= outside_id < num_tags:
            raise ValueError(
                f"`outside_id` must be a tag id from 0 to {num_tags - 1}, or None; "
                f"got {outside_id}."
            )
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.num_tags = num_tags
        self.outside_id = outside_id
        self.statistic: Statistic = statistic
        self._add_counts((num_tags,), "correct", "predicted", "true")

    def _count(self, y_true: tf.Tensor, y_pred: tf.Tensor, mask: tf.Tensor) -> None:
        if self.outside_id is not None:
            mask &= y_true != self.outside_id
        y_true, y_pred = tf.where(mask, y_true, -1), tf.where(mask, y_pred, -1)
        correct = tf.where(y_true == y_pred, y_true, -1)
        self.correct.assign_add(count_of_each(correct, self.num_tags))
        self.predicted.assign_add(count_of_each(y_pred, self.num_tags))
        self.true.assign_add(count_of_each(y_true, self.num_tags))

    def scores(self) -> dict[str, float]:
        """Returns a dict of floats: the weighted means of `precision`, `recall` and `f1`."""
        return {name: float(self._average(name)) for name in STATISTICS}

    def result(self) -> tf.Tensor:
        """Returns the weighted mean, a float32 scalar, which is 0 before the first token."""
        return tf.cast(self._average(self.statistic), "float32")

    def _average(self, statistic: str) -> tf.Tensor:
        counts = (c.value for c in (self.correct, self.predicted, self.true))  # [K]
        precision, recall, _ = precision_recall_f1(*counts)
        f1 = 2.0 * precision * recall / (precision + recall + 1e-10)
        true = tf.cast(self.true.value, "float64")
        values = {"precision": precision, "recall": recall, "f1": f1}[statistic]
        return tf.math.divide_no_nan(tf.reduce_sum(true * values), tf.reduce_sum(true))

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "num_tags": self.num_tags,
            "outside_id": self.outside_id,
            "statistic": self.statistic,
        }
