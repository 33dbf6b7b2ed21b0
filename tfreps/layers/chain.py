"""Linear chains: scores of paths, log normaliser, marginals, best paths."""

import tensorflow as tf

from tfreps.layers import chain_gradient, chain_paths
from tfreps.layers.chain_recursion import Chain, is_possible


def path_score(emissions, tags, mask, transitions, start, end):
    emissions, mask, transitions, start, end = _checked(emissions, mask, transitions, start, end)
    num_tags = emissions.shape[-1]
    tags = tf.cast(tags, "int32")
    valid = tf.reduce_all(~mask | ((tags >= 0) & (tags < num_tags)), -1)  # [B]
    tags = tf.where(mask, tf.clip_by_value(tags, 0, num_tags - 1), 0)
    chosen = tf.one_hot(tags, num_tags, on_value=True, off_value=False) & mask[..., None]
    on_tokens = tf.where(chosen, emissions, 0.0)  # [B, T, K]: no 0 * inf
    previous, last = previous_tags(tags, mask, num_tags)
    steps = tf.gather_nd(tf.concat([transitions, start[None]], 0), tf.stack([previous, tags], -1))
    score = tf.reduce_sum(on_tokens, [1, 2]) + tf.reduce_sum(tf.where(mask, steps, 0.0), 1)
    score += tf.gather(tf.concat([end, [0.0]], 0), last)
    return tf.where(valid, score, float("nan"))


def log_normalizer(emissions, mask, transitions, start, end):
    return chain_gradient.log_normalizer(*_checked(emissions, mask, transitions, start, end))


def marginals(emissions, mask, transitions, start, end):
    emissions, *rest = _checked(emissions, mask, transitions, start, end)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(emissions)
        total = chain_gradient.log_normalizer(emissions, *rest)
    return tape.gradient(total, emissions)


def viterbi(emissions, mask, transitions, start, end):
    arguments = _checked(emissions, mask, transitions, start, end)
    emissions, mask, *scores = arguments
    finite = tf.reduce_all(~mask[..., None] | (emissions < float("inf")), [1, 2])
    emissions = tf.where(finite[:, None, None], emissions, 0.0)
    chain = Chain.of(*(tf.stop_gradient(x) for x in (emissions, mask, *scores)))
    tags, best = chain_paths.best_path(chain)
    tags = tf.where(mask, tf.transpose(tags)[:, : tf.shape(mask)[1]], 0)
    score = path_score(emissions, tags, mask, *scores)
    score = tf.where(is_possible(best), score, float("-inf"))
    return tags, tf.where(finite, score, float("nan"))


def previous_tags(tags, mask, num_tags):
    """The tag of the last real token before each position (`num_tags` before the first)."""
    rank = tf.cumsum(tf.cast(mask, "int32"), axis=1, exclusive=True)  # [B, T]
    batch, length = tf.unstack(tf.shape(tags))
    slots = tf.where(mask, rank + 1, length + 1)  # masked tags go where nobody looks
    rows = tf.broadcast_to(tf.range(batch)[:, None], tf.shape(tags))
    compact = tf.fill([batch, length + 2], num_tags)
    compact = tf.tensor_scatter_nd_update(compact, tf.stack([rows, slots], -1), tags)
    count = tf.reduce_sum(tf.cast(mask, "int32"), 1, keepdims=True)
    last = tf.gather(compact, count, batch_dims=1)[:, 0]
    return tf.gather(compact, rank, batch_dims=1), last


def _checked(emissions, mask, transitions, start, end):
    emissions = tf.cast(emissions, "float32")
    mask = tf.ones(tf.shape(emissions)[:2], "bool") if mask is None else tf.cast(mask, "bool")
    return emissions, mask, *(tf.cast(x, "float32") for x in (transitions, start, end))
