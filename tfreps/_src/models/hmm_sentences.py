"""Decodes many sentences with an HMM and computes expected counts, in batches."""

import collections
import functools
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tensorflow as tf

from tfreps._src.layers.ops import chain
from tfreps._src.models.hmm_counts import HMMCounts, flat_tokens

MAX_TOKENS = 16384  # maximum number of tokens per batch, padding included
# Maximum number of tokens per batch under XLA, which fit into the cache of a core.
COMPILED_TOKENS = 8192
# Each thread computes a batch, because code compiled by XLA runs on one core.
THREADS = min(os.cpu_count() or 1, 8)


def decode(token_ids, log_emissions, scores, jit_compile=False):
    """Returns the most probable tags of each sentence; see `HMMTagger.decode_sentences`."""
    flat_ids, lengths = flat_tokens(token_ids, log_emissions.shape[0] - 1, or_none=True)
    best = best_tags_in_columns if jit_compile else best_tags
    best = in_a_graph(best, log_emissions.shape[1])
    tables = tuple(map(tf.convert_to_tensor, (log_emissions, *scores)))
    starts = np.cumsum(lengths) - lengths
    tags = np.zeros(len(flat_ids), np.int32)

    def fill(batch):
        rows, ids = batch
        real = ids[: len(rows)] != 0  # [B, T]
        positions = starts[rows][:, None] + np.arange(ids.shape[1])  # [B, T]
        tags[positions[real]] = best(ids, *tables).numpy()[: len(rows)][real]

    with ThreadPoolExecutor(THREADS if jit_compile else 1) as pool:
        collections.deque(pool.map(fill, batches(flat_ids, lengths, even=jit_compile)), maxlen=0)
    return np.split(tags, np.cumsum(lengths)[:-1]) if len(lengths) else []


def best_tags(token_ids, log_emissions, transitions, start, end):
    emissions = tf.gather(log_emissions, token_ids)  # [B, T, K]
    return chain.viterbi(emissions, token_ids != 0, transitions, start, end)[0]


def best_tags_in_columns(token_ids, log_emissions, transitions, start, end):
    """Returns the most probable tags, int32 `[B, T]`, like `best_tags`, but faster with XLA.

    `token_ids` is int32 `[B, T]`; padding must come last. The scores of a tag for all sentences are
    contiguous in memory, which makes decoding three times as fast with 28 tags.
    """
    columns = tf.transpose(token_ids)  # [T, B]
    emissions = tf.gather(log_emissions, columns)  # [T, B, K]; this operation is slow under XLA
    emissions = tf.transpose(emissions, [0, 2, 1])  # [T, K, B]
    return tf.transpose(best_path(columns != 0, emissions, transitions, start, end))  # [B, T]


@tf.function(jit_compile=True, autograph=False)
def best_path(mask, emissions, transitions, start, end):
    """Computes the most probable tag of each token, int32 `[T, B]`.

    The mask has the shape `[T, B]`, and the emission scores have the shape `[T, K, B]`.
    `transitions` is `[K, K]` (from, to), and `start` and `end` are `[K]`.
    """
    length, batch = tf.unstack(tf.shape(mask))
    into = tf.transpose(transitions)[:, :, None]  # [to, from, 1]

    def back(t, suffix, onwards):
        onward = emissions[t] + suffix  # [K, B]: best score from each tag at t to the end
        each = tf.reduce_max(into + onward[:, None], 0)  # [K, B]
        suffix = tf.where(mask[t], each, suffix)
        return t - 1, suffix, onwards.write(t, onward)

    def ahead(t, tag, tags):
        onward = onwards[t] + tf.gather(into[:, :, 0], tag, axis=1)  # [K, B]
        tag = tf.argmax(onward, 0, output_type=tf.int32)  # [B]
        return t + 1, tag, tags.write(t, tag)

    suffix = tf.repeat(end[:, None], batch, 1)  # [K, B]
    onwards = tf.TensorArray("float32", length, element_shape=[end.shape[0], None])
    state = length - 1, suffix, onwards
    onwards = tf.while_loop(lambda t, *_: t >= 0, back, state, maximum_iterations=length)[2]
    onwards = onwards.stack()  # [T, K, B]
    tag = tf.argmax(start[:, None] + onwards[0], 0, output_type=tf.int32)  # [B]
    tags = tf.TensorArray("int32", length, element_shape=[None]).write(0, tag)
    state = 1, tag, tags
    tags = tf.while_loop(lambda t, *_: t < length, ahead, state, maximum_iterations=length)[2]
    return tags.stack()


def expected_counts(batches, log_emissions, scores, has_end):
    """Returns the log likelihood of sentences without tags, and their expected `HMMCounts`.

    The batches are int32 `[B, T]` token ids, padded with 0. `log_emissions` is `[V + 1, K]`, and
    `scores` are the logs of the transition `[K, K]`, initial `[K]` and end `[K]` probabilities.
    """
    function = in_a_graph(likelihood_and_gradients, log_emissions.shape[1])
    likelihood = 0.0
    sums = [0.0] * 4
    for ids in batches:
        one, gradients = function(ids, log_emissions, *scores)
        likelihood += float(one)
        sums = [np.float64(g.numpy()) + total for g, total in zip(gradients, sums, strict=True)]
    emissions, transitions, initial, end = (np.maximum(total, 0.0) for total in sums)
    emissions[0] = 0.0  # row 0 belongs to padding, which has no counts
    return likelihood, HMMCounts(initial, transitions, emissions, end if has_end else 0 * end)


def likelihood_and_gradients(token_ids, *tables):
    """Returns the log likelihood of a batch, and the expected counts of its tokens and tags.

    The log likelihood is a float64 scalar. The expected counts are the gradients of the log
    likelihood with respect to `tables`: a list of tensors with the shapes of the tables.
    """
    with tf.GradientTape() as tape:
        tape.watch(tables)
        log_emissions, transitions, initial, end = tables
        emissions = tf.gather(log_emissions, token_ids)  # [B, T, K]
        each = chain.log_normalizer(emissions, token_ids != 0, transitions, initial, end)
        total = tf.reduce_sum(each)
    gradients = tape.gradient(total, tables, unconnected_gradients="zero")
    total = tf.reduce_sum(tf.cast(each, "float64"))
    return total, [tf.convert_to_tensor(gradient) for gradient in gradients]


@functools.cache
def in_a_graph(function, num_tags):
    """Returns a `tf.function` for a function of token ids and the four tables of an HMM.

    The `tf.function` is traced once, for token ids of any shape `[B, T]`.
    """
    shapes = [None, num_tags], [num_tags, num_tags], [num_tags], [num_tags]
    tables = [tf.TensorSpec(shape, "float32") for shape in shapes]
    signature = [tf.TensorSpec([None, None], "int32"), *tables]
    return tf.function(function, signature, autograph=False)


def batches(flat_ids, lengths, even=False):
    """Yields batches of sentences of similar length, the longest first, without empty sentences.

    Each batch is a tuple of the indices of the sentences, `[B]`, and their ids, int32 `[B, T]`,
    padded with 0. With `even`, the batches have few different shapes, but more padding: T is one of
    the `even_lengths`, the number of rows depends only on T, and any rows after the first B are
    padding.
    """
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 0]
    starts = np.cumsum(lengths) - lengths
    even_widths = np.array(even_lengths(lengths.max(initial=1)))
    most = COMPILED_TOKENS if even else MAX_TOKENS
    while len(order):
        width = lengths[order[0]]
        if even:
            width = even_widths[np.searchsorted(even_widths, width)]
        num_rows = max(most // width, 1)
        rows = order[:num_rows]
        order = order[num_rows:]
        real = np.arange(width) < lengths[rows][:, None]  # [B, T]
        positions = starts[rows][:, None] + np.arange(width)  # [B, T]
        ids = np.zeros([num_rows if even else len(rows), width], np.int32)
        ids[: len(rows)][real] = flat_ids[positions[real]]
        yield rows, ids


def even_lengths(highest):
    """Returns the list 8, 12, 16, 24, 32, 48 ... up to the first that is at least `highest`."""
    found = [8]
    while found[-1] < highest:
        found.append(found[-1] * 3 // 2 if len(found) % 2 else found[-1] * 4 // 3)
    return found
