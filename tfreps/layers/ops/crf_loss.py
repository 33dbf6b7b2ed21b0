"""Losses and hard constraints of a CRF: whole sequences, weighted tokens, partial tags."""

import functools

import numpy as np
import tensorflow as tf

from tfreps.layers.ops import chain


def checked_transitions(allowed, num_tags):
    """Checks a table of allowed transitions and returns it as plain lists.

    Args:
        allowed: bool, `[K + 2, K + 2]` [from, to]; row and column K are the start of a
            sentence, K + 1 its end.
        num_tags: int, K.

    Returns:
        List of `K + 2` lists of bool.

    Raises:
        ValueError: another shape or dtype, or no sentence of any length is legal.

    Example:
    >>> checked_transitions(np.ones([3, 3], bool), 1)[0]
    [True, True, True]
    """
    allowed = np.asarray(allowed)
    size = num_tags + 2
    if allowed.shape != (size, size) or allowed.dtype != bool:
        raise ValueError(
            f"`allowed_transitions` must be booleans of shape [K + 2, K + 2] = [{size}, {size}], "
            f"row and column {num_tags} for the start of a sentence and {num_tags + 1} for its "
            f"end; got {allowed.dtype} of shape {list(allowed.shape)}."
        )
    reached = allowed[num_tags, :num_tags]
    for _ in range(num_tags):
        reached = reached | (reached @ allowed[:num_tags, :num_tags])
    if not (reached & allowed[:num_tags, num_tags + 1]).any():
        raise ValueError(
            "`allowed_transitions` leaves no legal sequence: no way leads from the start (row "
            f"{num_tags}) over tags to the end (column {num_tags + 1}). Was it transposed?"
        )
    return allowed.tolist()


def constrained(scores, allowed, forbidden):
    """Scores with another value wherever a step is not allowed.

    Args:
        scores: (transitions `[K, K]`, start `[K]`, end `[K]`), float.
        allowed: as from `checked_transitions`; None for everything.
        forbidden: float, the score of what is not allowed.

    Returns:
        Transitions, start and end scores.

    Example:
    >>> scores = tf.zeros([1, 1]), tf.zeros([1]), tf.zeros([1])
    >>> allowed = [[False, True, True], [True, True, True], [True, True, True]]
    >>> [x.numpy().tolist() for x in constrained(scores, allowed, -5.0)]
    [[[-5.0]], [0.0], [0.0]]
    """
    if allowed is None:
        return scores
    allowed, n = np.array(allowed), len(allowed) - 2
    parts = allowed[:n, :n], allowed[n, :n], allowed[:n, n + 1]
    return tuple(tf.where(a, s, forbidden) for a, s in zip(parts, scores, strict=True))


# What an impossible step in a given path costs, in nats. Finite, so that training goes on.
ILLEGAL_COST = 1e4


def log_likelihood(emissions, tags, mask, gold_scores, scores):
    """Score of the path less `log Z`.

    Args:
        emissions, tags, mask: as in `tfreps.layers.ops.chain`.
        gold_scores, scores: (transitions, start, end) for the path and for `log Z`: the same, but
            that forbidden steps of the path cost ILLEGAL_COST instead of infinitely much.

    Returns:
        float32, shape `[B]`. Where no path is possible at all the score alone, without gradient.
    """
    score = chain.path_score(emissions, tags, mask, *gold_scores)
    total = chain.log_normalizer(emissions, mask, *scores)
    impossible = total == float("-inf")  # false for NaN, which stays NaN
    score = tf.where(impossible, tf.stop_gradient(score), score)
    return score - tf.where(impossible, 0.0, total)


def token_log_likelihood(emissions, tags, mask, gold_scores, scores):
    """Log probability of each tag given those before it, `[B, T]`, at least -ILLEGAL_COST.

    NaN at all tokens of a sentence with a tag outside of 0 to K - 1.
    """
    del gold_scores
    largest = emissions.shape[-1] - 1
    valid = tf.reduce_all(~mask | ((tags >= 0) & (tags <= largest)), -1, keepdims=True)  # [B, 1]
    tags = tf.clip_by_value(tags, 0, largest)
    value = chain.token_log_probabilities(emissions, tags, mask, *scores)
    value = tf.where(value < -ILLEGAL_COST, -ILLEGAL_COST, value)
    return tf.where(valid, value, float("nan"))


def partial_log_likelihood(emissions, allowed_tags, mask, scores):
    """Log of the probability of all paths through allowed tags, `[B]`, at least -ILLEGAL_COST."""
    total = chain.log_normalizer(emissions, mask, *scores)
    kept = tf.where(allowed_tags, emissions, float("-inf"))
    value = chain.log_normalizer(kept, mask, *scores) - tf.where(total == float("-inf"), 0.0, total)
    return tf.where(value < -ILLEGAL_COST, -ILLEGAL_COST, value)


def weighted_loss(emissions, tags, mask, weights, gold_scores, scores):
    """Sum of negative log-likelihoods, times weights of sentences `[B]` or of tokens `[B, T]`."""
    function = log_likelihood if weights.shape.rank == 1 else token_log_likelihood
    return -tf.reduce_sum(weights * function(emissions, tags, mask, gold_scores, scores))


def compiled_weighted_loss(emissions, tags, mask, weights, gold_scores, scores):
    """`weighted_loss` where XLA compiles value and gradient as one function.

    One call costs less than one for the value and one for its gradient, and inside `fit`, which
    leaves XLA off on a CPU, this part is compiled all the same.
    """

    @tf.custom_gradient
    def loss(emissions, *flat):
        # Without stop_gradient an outer tape would want the gradient of the gradient compiled.
        emissions, *flat = (tf.stop_gradient(x) for x in (emissions, *flat))
        run = compiled(_value_and_gradients, emissions.shape[-1], weights.shape.rank)
        gold_scores = tuple(flat[:3])
        scores = tuple(flat[3:])
        value, gradients = run(emissions, tags, mask, weights, gold_scores, scores)
        return value, lambda d: [d * g for g in gradients]

    return loss(emissions, *gold_scores, *scores)


def _value_and_gradients(emissions, tags, mask, weights, gold_scores, scores):
    sources = [emissions, *gold_scores, *scores]
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(sources)
        value = weighted_loss(emissions, tags, mask, weights, gold_scores, scores)
    zero = tf.UnconnectedGradients.ZERO
    return value, tape.gradient(value, sources, unconnected_gradients=zero)


@functools.cache
def compiled(function, *kind):
    """The function compiled by XLA, once for each shape, also when called from a plain graph.

    There is one for each `kind`, the sizes and ranks it needs to know (such as the number of
    tags): when shapes come to differ, it is traced again with only what they have in common.
    """
    del kind
    return tf.function(function, jit_compile=True, reduce_retracing=True, autograph=False)
