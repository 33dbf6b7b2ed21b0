"""TokenAccuracy: share of real tokens whose tag is correct."""

import keras
import tensorflow as tf

from tfreps.metrics.tag_pairs import tag_pairs


@keras.saving.register_keras_serializable(package="tfreps")
class TokenAccuracy(keras.metrics.Metric):
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

    def __init__(self, name="token_accuracy", dtype=None, **kwargs):
        super().__init__(name=name, dtype=dtype, **kwargs)
        options = {"shape": (), "initializer": "zeros", "dtype": "int64"}
        self.correct = self.add_variable(name="correct", **options)
        self.tokens = self.add_variable(name="tokens", **options)

    def update_state(self, y_true, y_pred, sample_weight=None):
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
        y_true, y_pred, mask = tag_pairs(y_true, y_pred, sample_weight)
        self.correct.assign_add(tf.math.count_nonzero((y_true == y_pred) & mask))
        self.tokens.assign_add(tf.math.count_nonzero(mask))

    def result(self):
        """Returns the accuracy, a float32 scalar, which is 0 before the first token."""
        correct, tokens = (tf.cast(v.value, "float64") for v in (self.correct, self.tokens))
        return tf.cast(tf.math.divide_no_nan(correct, tokens), "float32")
