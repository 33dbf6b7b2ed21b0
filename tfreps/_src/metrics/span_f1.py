"""SpanF1: precision, recall and F1 of spans, counted in the graph."""

from collections.abc import Sequence
from typing import Any, Literal

import keras
import tensorflow as tf

from tfreps._src.files.argument_checks import check_choice
from tfreps._src.metrics.tag_pairs import (
    STATISTICS,
    Statistic,
    TagMetric,
    count_of_each,
    precision_recall_f1,
)
from tfreps._src.text.tags import tag_schemes
from tfreps._src.text.tags.graph_spans import ended_spans
from tfreps._src.text.tags.tag_schemes import Scheme, SpanMode

AVERAGES = ("micro", "macro")
Average = Literal["micro", "macro"]


@keras.saving.register_keras_serializable(package="tfreps")
class SpanF1(TagMetric):
    """F1, precision or recall of spans, exact over any number of batches.

        F1 = 2 * correct / (predicted + true)
        precision = correct / predicted;  recall = correct / true

    `predicted` and `true` are the numbers of spans in the predictions and in the data. `correct` is
    the number of predicted spans for which the data contain a span with the same type, start and
    end. Masked tokens are removed wherever they are, and the tokens around them become neighbors.
    `tfreps.tags.spans` defines the spans of a tag sequence. With `mode="strict"`, the
    result equals the F1 of seqeval with `mode="strict"` and the class of the scheme. With
    `mode="conlleval"`, the result equals the F1 of seqeval's default mode and, for tags with B and
    I only, the F1 of conlleval.pl. seqeval does not know all tag prefixes: to compare results,
    replace M with I (class IOBES) and, for the default mode of seqeval, L with E and U with S.

    Args:
        tags: list of str. The K tags in the order of their ids.
        scheme: `"bio"`, `"iob1"`, `"bioes"`, `"bilou"` or `"bmes"`. Tag scheme.
        mode: `"strict"` or `"conlleval"`. Treatment of sequences that are not valid in the scheme;
            see `tfreps.tags.spans`. Defaults to `"strict"`.
        average: `"micro"` for the score of all spans, or `"macro"` for the mean score of the types
            that occur in the data or in the predictions. Defaults to `"micro"`.
        statistic: `"precision"`, `"recall"` or `"f1"`. Score that `result` returns. Defaults to
            `"f1"`.
        name: str. Name of the metric. Defaults to `"span_f1"`.
        dtype: str. Dtype of the metric. If `None` (the default), it is `keras.config.floatx()`.

    Raises:
        ValueError: If an option is invalid, or a tag does not belong to the scheme.

    Example:
    >>> metric = SpanF1(["O", "B-X", "I-X"], "bio")
    >>> metric.update_state([[1, 2, 0, 1]], [[1, 2, 1, 0]], [[True, True, True, True]])
    >>> float(metric.result())
    0.5
    """

    correct: keras.Variable
    predicted: keras.Variable
    true: keras.Variable

    def __init__(
        self,
        tags: Sequence[str],
        scheme: Scheme,
        mode: SpanMode = "strict",
        average: Average = "micro",
        statistic: Statistic = "f1",
        name: str = "span_f1",
        dtype: str | None = None,
        **kwargs: Any,
    ) -> None:
        check_choice(AVERAGES, average=average)
        check_choice(STATISTICS, statistic=statistic)
        rules = tag_schemes.span_rules(tags, scheme, mode)
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.tags = list(tags)
        self.scheme: Scheme = scheme
        self.mode: SpanMode = mode
        self.average: Average = average
        self.statistic: Statistic = statistic
        self.type_names = list(rules.type_names)
        self._rules = rules
        # Tags without span types, such as ["O"], still need one row, which stays 0.
        self._add_counts((max(1, len(self.type_names)),), "correct", "predicted", "true")

    def _count(self, y_true: tf.Tensor, y_pred: tf.Tensor, mask: tf.Tensor) -> None:
        order, kept = _real_tokens_first(mask)
        boundary = len(self.tags)
        y_true, y_pred = (_take(ids, order, kept, boundary) for ids in (y_true, y_pred))  # [N]
        true_type, true_start = ended_spans(y_true, self._rules)
        pred_type, pred_start = ended_spans(y_pred, self._rules)
        same = (true_type == pred_type) & (true_start == pred_start)
        (size,) = self.true.shape
        self.correct.assign_add(count_of_each(tf.where(same, true_type, -1), size))
        self.predicted.assign_add(count_of_each(pred_type, size))
        self.true.assign_add(count_of_each(true_type, size))

    def counts(self) -> dict[str, dict[str, int]]:
        """Returns a dict from each span type to its counts: `correct`, `predicted` and `true`."""
        arrays = [v.numpy().tolist() for v in (self.correct, self.predicted, self.true)]
        rows = zip(self.type_names, *arrays, strict=False)
        return {
            name: {"correct": correct, "predicted": predicted, "true": true}
            for name, correct, predicted, true in rows
        }

    def scores(self) -> dict[str, float]:
        """Returns the average `precision`, `recall` and `f1` as a dict of floats; see `average`."""
        return dict(zip(STATISTICS, map(float, self._scores()), strict=True))

    def result(self) -> tf.Tensor:
        """Returns the `statistic`, a float32 scalar, which is 0 if there are no spans."""
        return tf.cast(self._scores()[STATISTICS.index(self.statistic)], "float32")

    def _scores(self) -> Sequence[tf.Tensor]:
        counts = [tf.convert_to_tensor(v.value) for v in (self.correct, self.predicted, self.true)]
        if self.average == "micro":
            return precision_recall_f1(*map(tf.reduce_sum, counts))
        occurs = tf.cast(counts[1] + counts[2] > 0, "float64")  # [types]
        return [
            tf.math.divide_no_nan(tf.reduce_sum(scores * occurs), tf.reduce_sum(occurs))
            for scores in precision_recall_f1(*counts)
        ]

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "tags": self.tags,
            "scheme": self.scheme,
            "mode": self.mode,
            "average": self.average,
            "statistic": self.statistic,
        }


def _real_tokens_first(mask: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns indices that move masked positions to the end, and the mask in that order.

    Both have the shape `[B * (T + 1)]`. The sentences are concatenated, and each is followed by an
    additional position, which `_take` fills with the boundary id.
    """
    kept = tf.reshape(tf.pad(mask, [[0, 0], [0, 1]], constant_values=True), [-1])
    rank = tf.range(tf.size(kept))
    order = tf.argsort(tf.where(kept, rank, rank + tf.size(kept)))
    return order, tf.gather(kept, order)


def _take(ids: tf.Tensor, order: tf.Tensor, kept: tf.Tensor, boundary: int) -> tf.Tensor:
    """Returns the ids in `order`, with the boundary id after each sentence and where not `kept`.

    The result is int32 `[N]` with `N = B * (T + 1)`.
    """
    flat = tf.reshape(tf.pad(ids, [[0, 0], [0, 1]], constant_values=boundary), [-1])
    return tf.where(kept, tf.gather(flat, order), boundary)
