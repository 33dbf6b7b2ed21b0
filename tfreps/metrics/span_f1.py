"""SpanF1: precision, recall and F1 of spans, counted in the graph."""

import keras
import tensorflow as tf

from tfreps.metrics.tag_pairs import precision_recall_f1, tag_pairs
from tfreps.text.tags import tag_schemes
from tfreps.text.tags.graph_spans import ended_spans

AVERAGES = ("micro", "macro")


@keras.saving.register_keras_serializable(package="tfreps")
class SpanF1(keras.metrics.Metric):
    """F1 of spans, exact over any number of batches.

        F1 = 2 * spans in both / (spans of the model + spans of the data)

    A span is in both if type, start and end agree. What makes a span is told by
    `tfreps.text.tags.spans`: with `mode="strict"` the result is that of seqeval with
    `mode="strict"` and the scheme's class, with `mode="conlleval"` that of seqeval's default and
    of conlleval.pl.

    Args:
        tags: list of the K tags in the order of their ids.
        scheme: `"bio"`, `"iob1"`, `"bioes"`, `"bilou"` or `"bmes"`.
        mode: `"strict"` or `"conlleval"`.
        average: `"micro"` over all spans; `"macro"` is the mean over the types that occur in
            the data or in predictions.

    Update arguments:
        y_true, y_pred: integer, shape `[B, T]`. Tag ids.
        sample_weight: bool, shape `[B, T]`, True on real tokens; None for all. Masked tokens
            are left out, wherever they are, and their neighbours become neighbours. (Of numbers,
            those above 0 count as True.)

    Result: float32 scalar; 0 without any span.

    Raises:
        ValueError: a tag outside the scheme; plain tags, which have no spans.

    Example:
    >>> metric = SpanF1(["O", "B-X", "I-X"], "bio")
    >>> metric.update_state([[1, 2, 0, 1]], [[1, 2, 1, 0]], [[True, True, True, True]])
    >>> float(metric.result())
    0.5
    """

    def __init__(
        self, tags, scheme, mode="strict", average="micro", name="span_f1", dtype=None, **kwargs
    ):
        if average not in AVERAGES:
            raise ValueError(f"`average` must be one of {AVERAGES}; got {average!r}.")
        rules = tag_schemes.span_rules(tags, scheme, mode)
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.tags = list(tags)
        self.scheme = scheme
        self.mode = mode
        self.average = average
        self.type_names = list(rules.type_names)
        self._rules = rules
        # A list of tags without a span (["O"]) still has one row, which stays 0.
        shape = (max(1, len(self.type_names)),)
        options = {"shape": shape, "initializer": "zeros", "dtype": "int64"}
        self.correct = self.add_variable(name="correct", **options)
        self.predicted = self.add_variable(name="predicted", **options)
        self.true = self.add_variable(name="true", **options)

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred, mask = tag_pairs(y_true, y_pred, sample_weight)
        order, kept = _real_tokens_first(mask)
        boundary = len(self.tags)
        y_true, y_pred = (_take(ids, order, kept, boundary) for ids in (y_true, y_pred))  # [N]
        true_type, true_start = ended_spans(y_true, self._rules)
        pred_type, pred_start = ended_spans(y_pred, self._rules)
        same = (true_type == pred_type) & (true_start == pred_start)
        self.correct.assign_add(self._count(tf.where(same, true_type, -1)))
        self.predicted.assign_add(self._count(pred_type))
        self.true.assign_add(self._count(true_type))

    def _count(self, types):
        """How often each type occurs, int64 `[types]`; -1 is dropped."""
        ones = tf.ones_like(types, dtype="int64")
        return tf.math.unsorted_segment_sum(ones, types, self.true.shape[0])

    def counts(self):
        """What was counted: type -> dict of int `correct`, `predicted`, `true`."""
        arrays = [v.numpy().tolist() for v in (self.correct, self.predicted, self.true)]
        rows = zip(self.type_names, *arrays, strict=False)
        return {
            name: {"correct": correct, "predicted": predicted, "true": true}
            for name, correct, predicted, true in rows
        }

    def scores(self):
        """Precision, recall and F1 under `average`: dict of float."""
        return dict(zip(("precision", "recall", "f1"), map(float, self._scores()), strict=True))

    def result(self):
        return tf.cast(self._scores()[2], "float32")

    def _scores(self):
        counts = [tf.convert_to_tensor(v.value) for v in (self.correct, self.predicted, self.true)]
        if self.average == "micro":
            return precision_recall_f1(*map(tf.reduce_sum, counts))
        occurs = tf.cast(counts[1] + counts[2] > 0, "float64")  # [types]
        return [
            tf.math.divide_no_nan(tf.reduce_sum(scores * occurs), tf.reduce_sum(occurs))
            for scores in precision_recall_f1(*counts)
        ]

    def get_config(self):
        return {
            **super().get_config(),
            "tags": self.tags,
            "scheme": self.scheme,
            "mode": self.mode,
            "average": self.average,
        }


def _real_tokens_first(mask):
    """The order that moves masked places to the end, and how many come before; `[B * (T + 1)]`.

    After every sentence one place is kept, which `_take` fills with the boundary.
    """
    kept = tf.reshape(tf.pad(mask, [[0, 0], [0, 1]], constant_values=True), [-1])
    places = tf.range(tf.size(kept))
    order = tf.argsort(tf.where(kept, places, places + tf.size(kept)))
    return order, tf.gather(kept, order)


def _take(ids, order, kept, boundary):
    """The tags of all sentences in one row, each sentence followed by the boundary, `[N]`."""
    flat = tf.reshape(tf.pad(ids, [[0, 0], [0, 1]], constant_values=boundary), [-1])
    return tf.where(kept, tf.gather(flat, order), boundary)
