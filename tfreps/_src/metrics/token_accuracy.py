"""TokenAccuracy: share of real tokens whose tag is correct."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.metrics.tag_pairs import TagMetric


@keras.saving.register_keras_serializable(package="tfreps")
class TokenAccuracy(TagMetric):
    """Share of real tokens whose tag is correct, independent of how they were batched.

    Args:
        name: str. Name of the metric. Defaults to `"token_accuracy"`.
        dtype: str. Dtype of the metric. If `None` (the default), it is `keras.config.floatx()`.

    Example:
    >>> metric = TokenAccuracy()
    >>> metric.update_state([[0, 1, 2]], [[0, 2, 1]], sample_weight=[[True, True, False]])
    >>> float(metric.result())
    0.5
    """

    correct: keras.Variable
    tokens: keras.Variable

    def __init__(
        self, name: str = "token_accuracy", dtype: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self._add_counts((), "correct", "tokens")

    def _count(self, y_true: tf.Tensor, y_pred: tf.Tensor, mask: tf.Tensor) -> None:
        self.correct.assign_add(tf.math.count_nonzero((y_true == y_pred) & mask))
        self.tokens.assign_add(tf.math.count_nonzero(mask))

    def result(self) -> tf.Tensor:
        """Returns the accuracy, a float32 scalar, which is 0 before the first token."""
        correct, tokens = (tf.cast(v.value, "float64") for v in (self.correct, self.tokens))
        return tf.cast(tf.math.divide_no_nan(correct, tokens), "float32")
