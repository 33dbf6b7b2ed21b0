"""Losses of a CRF: whole sequences, weighted tokens, partly tagged ones; compiled."""

import functools

import tensorflow as tf

from tfreps.layers import chain

# What an impossible step in a given path costs, in nats. Finite, so that training goes on.
ILLEGAL_COST = 1e4


def log_likelihood(emissions, tags, mask, gold_scores, scores):
    """Score of the path less `log Z`.

    Args:
        emissions, tags, mask: as in `tfreps.layers.chain`.
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
        gold_scores, scores = tuple(flat[:3]), tuple(flat[3:])
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
