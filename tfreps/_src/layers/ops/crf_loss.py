"""Hard constraints of a CRF, and its losses for sequences, weighted tokens and partial tags."""

import functools

import numpy as np
import tensorflow as tf

from tfreps._src.layers.ops import chain


def checked_transitions(allowed, num_tags):
    """Checks a table of allowed transitions, bool `[K + 2, K + 2]`, and returns it as plain lists.

    Row and column `K` are the start of a sentence, `K + 1` its end.
    """
    allowed = np.asarray(allowed)
    size = num_tags + 2
    if allowed.shape != (size, size) or allowed.dtype != bool:
        raise ValueError(
            "`allowed_transitions` must be a boolean table of shape [K + 2, K + 2] = "
            f"[{size}, {size}], with row and column {num_tags} for the start of a sentence and "
            f"{num_tags + 1} for its end; got {allowed.dtype} of shape {list(allowed.shape)}."
        )
    reached = allowed[num_tags, :num_tags]
    for _ in range(num_tags):
        reached = reached | (reached @ allowed[:num_tags, :num_tags])
    if not (reached & allowed[:num_tags, num_tags + 1]).any():
        raise ValueError(
            "`allowed_transitions` permits no legal sequence: no path leads from the start (row "
            f"{num_tags}) through tags to the end (column {num_tags + 1}). Check that rows are the "
            "tags before a step and columns the tags after it."
        )
    return allowed.tolist()


def constrained(scores, allowed, forbidden):
    """Returns the scores of the steps, with the value `forbidden` for each forbidden step.

    `scores` are the transition, start and end scores, `[K, K]`, `[K]` and `[K]`. `allowed` is a
    table from `checked_transitions`, or `None` if all steps are allowed.
    """
    if allowed is None:
        return scores
    allowed, n = np.array(allowed), len(allowed) - 2
    parts = allowed[:n, :n], allowed[n, :n], allowed[:n, n + 1]
    return tuple(tf.where(a, s, forbidden) for a, s in zip(parts, scores, strict=True))


def is_allowed(tags, mask, allowed):
    """Returns whether the tags of each sentence contain no forbidden step, bool `[B]`.

    `tags` are int32 `[B, T]` or, for sets of possible tags, bool `[B, T, K]`: the result is then
    whether any choice of tags has no forbidden step. `allowed` is a table from
    `checked_transitions`.
    """
    size = len(allowed) - 2
    zeros = tf.zeros([size, size]), tf.zeros([size]), tf.zeros([size])
    if tags.dtype.is_bool:
        impossible = float("-inf")
        emissions = tf.where(tags, 0.0, impossible)
        scores = constrained(zeros, allowed, impossible)
        return chain.log_normalizer(emissions, mask, *scores) > impossible
    emissions = tf.zeros([*tf.unstack(tf.shape(tags)), size])
    return chain.path_score(emissions, tags, mask, *constrained(zeros, allowed, 1.0)) == 0.0


# Cost of an impossible step in a given path, in nats. It is finite, so that training continues.
ILLEGAL_COST = 1e4


def log_likelihood(emissions, tags, mask, gold_scores, scores):
    """Computes the score of the path `tags` minus `log Z`, float32 `[B]`.

    `gold_scores` are the transition, start and end scores for the path `tags`, and `scores` those
    for `log Z`. They differ only in forbidden steps, whose score is -ILLEGAL_COST in `gold_scores`
    and `-inf` in `scores`. If no path is possible, the score of the path `tags` is returned without
    a gradient.
    """
    score = chain.path_score(emissions, tags, mask, *gold_scores)
    return _minus_log_normalizer(score, emissions, mask, scores)


def soft_log_likelihood(emissions, targets, mask, gold_scores, scores):
    """Computes the expectation of `log_likelihood` for tags that are drawn from `targets`, `[B]`.

    `targets` are float32 `[B, T, K]`, the probabilities of the tags of each token.
    """
    score = chain.expected_score(emissions, targets, mask, *gold_scores)
    return _minus_log_normalizer(score, emissions, mask, scores)


def _minus_log_normalizer(score, emissions, mask, scores):
    total = chain.log_normalizer(emissions, mask, *scores)
    impossible = total == float("-inf")  # False for NaN, so that a total of NaN stays NaN
    score = tf.where(impossible, tf.stop_gradient(score), score)
    return score - tf.where(impossible, 0.0, total)


def token_log_likelihood(emissions, tags, mask, gold_scores, scores):
    """Computes the log probability of each tag given the tags before it, `[B, T]`.

    The result is at least -ILLEGAL_COST, and NaN in a sentence with a tag outside 0 to K - 1 at a
    real token. The arguments are the same as for `log_likelihood`; `gold_scores` is not used.
    """
    del gold_scores
    largest = emissions.shape[-1] - 1
    valid = tf.reduce_all(~mask | ((tags >= 0) & (tags <= largest)), -1, keepdims=True)  # [B, 1]
    tags = tf.clip_by_value(tags, 0, largest)
    value = chain.token_log_probabilities(emissions, tags, mask, *scores)
    value = tf.where(value < -ILLEGAL_COST, -ILLEGAL_COST, value)
    return tf.where(valid, value, float("nan"))


def partial_log_likelihood(emissions, allowed_tags, mask, scores):
    """Computes the log of the total probability of all paths that consist of allowed tags, `[B]`.

    `allowed_tags` is bool `[B, T, K]`. The result is at least -ILLEGAL_COST.
    """
    total = chain.log_normalizer(emissions, mask, *scores)
    kept = tf.where(allowed_tags, emissions, float("-inf"))
    value = chain.log_normalizer(kept, mask, *scores) - tf.where(total == float("-inf"), 0.0, total)
    return tf.where(value < -ILLEGAL_COST, -ILLEGAL_COST, value)


def check_weights_of_soft(weights):
    """Raises a ValueError if the weights for soft labels or sets of tags are not `[B]`."""
    if weights.shape.rank != 1:
        raise ValueError(
            "`sample_weight` must have the shape [B] with soft labels or sets of tags; got "
            f"{weights.shape}. For weights of tokens, pass a tag id for each token."
        )


def sentence_losses(emissions, tags, mask, weights, gold_scores, scores):
    """Computes the weighted negative log-likelihood of each sentence, float32 `[B]`.

    `weights` are `[B]` or `[B, T]`. `tags` are int32 `[B, T]` or, with weights of sentences,
    float32 or bool `[B, T, K]`.
    """
    if tags.dtype.is_bool:
        return -weights * partial_log_likelihood(emissions, tags, mask, scores)
    if weights.shape.rank == 2:
        tokens = token_log_likelihood(emissions, tags, mask, gold_scores, scores)
        return -tf.reduce_sum(weights * tokens, axis=1)
    function = soft_log_likelihood if tags.dtype.is_floating else log_likelihood
    return -weights * function(emissions, tags, mask, gold_scores, scores)


def weighted_loss(*inputs):
    """Computes the sum of the `sentence_losses`, a float32 scalar."""
    return tf.reduce_sum(sentence_losses(*inputs))


def compiled_weighted_loss(emissions, tags, mask, weights, gold_scores, scores):
    """Computes `weighted_loss`, together with its gradient, in one XLA-compiled function.

    One call costs less than separate calls for the value and the gradient. The function is also
    compiled inside `fit`, although `fit` itself does not use XLA on a machine without a GPU.
    """

    @tf.custom_gradient
    def loss(emissions, *flat):
        # Without stop_gradient, an outer tape would require the gradient of the gradient.
        emissions, *flat = (tf.stop_gradient(x) for x in (emissions, *flat))
        batch = emissions, tags, mask, weights
        scores = tuple(flat[:3]), tuple(flat[3:])
        value, gradients = run(_value_and_gradients, True, batch, scores)
        return value, lambda d: [d * g for g in gradients]

    return loss(emissions, *gold_scores, *scores)


def _value_and_gradients(emissions, tags, mask, weights, gold_scores, scores):
    sources = [emissions, *gold_scores, *scores]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(sources)
        value = weighted_loss(emissions, tags, mask, weights, gold_scores, scores)
    zero = tf.UnconnectedGradients.ZERO
    return value, tape.gradient(value, sources, unconnected_gradients=zero)


def run(function, jit_compile, batch, scores, **options):
    """Returns `function(*batch, *scores, **options)`.

    In eager mode, the function runs as a traced graph. With `jit_compile`, XLA compiles the
    function, in eager calls and in graphs. `batch` begins with the emissions, `[B, T, K]`.
    """
    if not (jit_compile or tf.executing_eagerly()):
        return function(*batch, *scores, **options)
    ranks = [x.shape.rank for x in batch]
    return traced(function, jit_compile, batch[0].shape[-1], *ranks)(*batch, *scores, **options)


@functools.cache
def traced(function, jit_compile, *kind):
    """Returns `function` as a `tf.function`, which XLA compiles if `jit_compile` is True.

    `kind` contains the sizes and ranks that must be static, such as the number of tags; there is
    one `tf.function` for each `kind`. All other sizes may differ between calls without a new trace
    for each size.
    """
    del kind
    return tf.function(function, jit_compile=jit_compile, reduce_retracing=True, autograph=False)
