"""TagTraining: the loss and the metrics of a tagger, for all kinds of targets."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.ops import crf_loss
from tfreps._src.layers.ops.masks import checked_tag_values, has_tag_values, is_partial, is_soft
from tfreps._src.layers.ops.replicas import num_replicas
from tfreps._src.metrics.span_f1 import SpanF1
from tfreps._src.models.given_metrics import GivenMetrics
from tfreps._src.models.own_loss import checked_y, mean_of_rows, with_penalty

# Keras metrics whose predictions are one probability per class.
OF_PROBABILITIES = (
    keras.metrics.CategoricalAccuracy,
    keras.metrics.CategoricalCrossentropy,
    keras.metrics.SparseCategoricalAccuracy,
    keras.metrics.SparseCategoricalCrossentropy,
    keras.metrics.SparseTopKCategoricalAccuracy,
    keras.metrics.TopKCategoricalAccuracy,
    keras.metrics.F1Score,
)
# Keras metrics of two classes, which take the tag ids for probabilities.
OF_TWO_CLASSES = (
    keras.metrics.AUC,
    keras.metrics.BinaryAccuracy,
    keras.metrics.BinaryCrossentropy,
    keras.metrics.BinaryIoU,
    keras.metrics.FalseNegatives,
    keras.metrics.FalsePositives,
    keras.metrics.Precision,
    keras.metrics.PrecisionAtRecall,
    keras.metrics.Recall,
    keras.metrics.RecallAtPrecision,
    keras.metrics.SensitivityAtSpecificity,
    keras.metrics.SpecificityAtSensitivity,
    keras.metrics.TrueNegatives,
    keras.metrics.TruePositives,
)


class TagTraining(GivenMetrics):
    """Mixin for `Tagger` with the computations of `fit` and `evaluate`.

    Targets are tag ids, probabilities of tags, or sets of possible tags.
    """

    def compute_loss(
        self,
        x: Any = None,
        y: Any = None,
        y_pred: Any = None,
        sample_weight: tf.Tensor | None = None,
        training: bool = True,
    ) -> tf.Tensor:
        emissions = y_pred["emissions"]
        mask = y_pred["mask"]
        if sample_weight is not None and tf.convert_to_tensor(sample_weight).shape.rank is None:
            # Keras traces one function for weights [B] and [B, T] in different calls.
            sample_weight = tf.reshape(sample_weight, [tf.shape(mask)[0], -1])
            sample_weight = tf.broadcast_to(sample_weight, tf.shape(mask))
        y = checked_tags(y, emissions, mask)
        measured = self._measured(training)
        if measured:
            tags, _ = self.decode(y_pred)
            update_metrics(measured, y, tags, mask)
        if self.use_crf:
            loss = self.crf.loss(emissions, y, mask, sample_weight)
        else:
            loss = cross_entropy(emissions, y, mask, sample_weight)
        logged = None
        forbids = self.constrain == "both" and self.crf.allowed_transitions is not None
        if self.use_crf and forbids and not is_soft(y):
            logged = loss_of_allowed(self.crf, loss, emissions, y, mask, sample_weight)
        return with_penalty(self, loss, tf.shape(y)[0], x, logged, self._divisor(mask))

    def compute_metrics(
        self, x: Any, y: Any, y_pred: Any, sample_weight: tf.Tensor | None = None
    ) -> dict[str, tf.Tensor]:
        results = super().compute_metrics(x, y, y_pred, sample_weight)
        for metric in self.test_metrics:
            if metric not in self._given_metrics:  # `test_step` adds it; training does not decode
                results.pop(metric.name)
        return results

    def test_step(self, data: Any) -> dict[str, tf.Tensor]:
        logs = super().test_step(data)
        return {**logs, **{metric.name: metric.result() for metric in self.test_metrics}}

    @property
    def _own_metrics(self) -> dict[str, keras.Metric]:
        """Metrics of the model itself, by name: `accuracy` and, with a scheme, scores of spans.

        `span_precision` and `span_recall` are created for `compile`, which keeps those it needs.
        """
        own = {metric.name: metric for metric in self.test_metrics}
        if self.scheme is not None:
            for each in "precision", "recall":
                name = f"span_{each}"
                own[name] = SpanF1(self.tags, self.scheme, statistic=each, name=name)
        return own

    def _check_metric(self, metric):
        if isinstance(metric, OF_TWO_CLASSES):
            raise ValueError(
                f"`metrics` of a tagger are computed from the ids of the best tags, but "
                f"{type(metric).__name__} is a metric of two classes. Use 'span_precision', "
                "'span_recall' or 'span_f1', which a tagger with a `scheme` has."
            )
        if isinstance(metric, OF_PROBABILITIES):
            raise ValueError(
                f"`metrics` of a tagger are computed from the ids of the best tags, but "
                f"{type(metric).__name__} needs probabilities. Use a metric of ids, such as "
                "'accuracy' or keras.metrics.MeanIoU."
            )

    def _divisor(self, mask):
        """Returns this replica's part of the divisor of the loss; `None` for its sentences."""
        if self.reduction == "sum":
            return 1.0 / num_replicas()
        return tf.math.count_nonzero(mask) if self.reduction == "token_mean" else None

    def _measured(self, training):
        """Returns the metrics that are updated in training or in evaluation."""
        own = [] if training else self.test_metrics
        return [*own, *(metric for metric in self._given_metrics if metric not in own)]


def checked_tags(y, emissions, mask):
    """Returns the targets of a batch as a tensor, after checking their shape and values.

    Tag ids become int32 `[B, T]`, probabilities float32 `[B, T, K]`, and sets bool `[B, T, K]`.
    """
    # Keras traces one function of unknown rank for ids and, later, one-hot rows of the same dtype.
    rank_is_known = getattr(getattr(y, "shape", None), "rank", 0) is not None
    if rank_is_known and has_tag_values(y):
        return checked_tag_values("y", y, emissions.shape, mask)
    return checked_y(y, mask.shape, "[B, T]", emissions.shape[-1], mask)


def update_metrics(metrics, y, tags, mask):
    """Updates metrics with the targets, checked by `checked_tags`, and the best tags `[B, T]`.

    Probabilities are replaced with the most probable tag. Of sets, only tokens with a single
    possible tag count, and for spans only sentences that consist of such tokens.
    """
    known = mask & (tf.math.count_nonzero(y, -1) == 1) if is_partial(y) else mask  # [B, T]
    whole = tf.reduce_all(known == mask, axis=1, keepdims=True)  # [B, 1]
    if y.shape.rank == 3:
        y = tf.argmax(tf.cast(y, "float32"), -1, output_type="int32")
    for metric in metrics:
        counted = mask & whole if isinstance(metric, SpanF1) else known
        metric.update_state(y, tags, sample_weight=counted)


def token_nll(logits, y, mask):
    """Returns the cross-entropy of each token, `[B, T]`, 0 on padding; `y` are checked targets."""
    if is_partial(y):
        possible = tf.reduce_any(y, -1)
        kept = tf.where(y | ~possible[..., None], tf.nn.log_softmax(logits), float("-inf"))
        nll = tf.where(possible, -tf.reduce_logsumexp(kept, -1), crf_loss.ILLEGAL_COST)
    elif is_soft(y):
        nll = tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=logits)
    else:
        nll = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits)
    return tf.where(mask, nll, 0.0)


def cross_entropy(logits, y, mask, sample_weight):
    """Returns the mean over sentences of the summed cross-entropy of their tokens, a scalar."""
    nll = token_nll(logits, y, mask)
    if sample_weight is not None:
        weight = tf.cast(sample_weight, "float32")
        if is_partial(y):
            crf_loss.check_weights_of_soft(weight)
        nll *= weight[:, None] if weight.shape.rank == 1 else weight
    return mean_of_rows(tf.reduce_sum(nll, axis=1))


def loss_of_allowed(crf, loss, emissions, y, mask, sample_weight):
    """Computes the mean loss of the sentences without a forbidden transition, for the logs.

    Args:
        crf: `CRF` with `allowed_transitions`.
        loss: float32 scalar. Mean loss of all sentences.
        emissions, y, mask, sample_weight: The arguments of `CRF.loss`.

    Returns:
        Tuple `(mean loss, number)` of the sentences without a forbidden transition.
    """
    allowed = crf_loss.is_allowed(y, mask, crf.allowed_transitions)  # [B]
    rows, counted = tf.size(allowed), tf.math.count_nonzero(allowed, dtype="int32")

    def of_allowed():
        weights = tf.cast(allowed, "float32")
        if sample_weight is not None:
            own = tf.cast(sample_weight, "float32")
            weights = own * (weights if own.shape.rank == 1 else weights[:, None])
        total = crf.loss(tf.stop_gradient(emissions), y, mask, weights)
        return total * tf.cast(rows / tf.maximum(counted, 1), "float32")

    return tf.cond(counted == rows, lambda: tf.stop_gradient(loss), of_allowed), counted
