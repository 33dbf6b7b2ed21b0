"""Targets of taggers: tag ids, probabilities of tags, or sets of possible tags."""

import tensorflow as tf

from tfreps._src.layers.ops import crf_loss
from tfreps._src.layers.ops.masks import check_shape, checked_distributions, is_partial, is_soft
from tfreps._src.metrics.span_f1 import SpanF1
from tfreps._src.models.own_loss import checked_y, mean_of_rows


def checked_tags(y, emissions, mask):
    """Returns the targets of a batch as a tensor, after checking their shape and values.

    Tag ids become int32 `[B, T]`, probabilities float32 `[B, T, K]`, and sets bool `[B, T, K]`.
    """
    if is_soft(y):
        return checked_distributions("y", y, emissions.shape, mask)
    if is_partial(y):
        y = tf.convert_to_tensor(y)
        check_shape("y", y, emissions.shape, "[B, T, K]")
        return y
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
