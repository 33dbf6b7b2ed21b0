"""Many sentences under an HMM: decoding and expected counts, in batches of like length."""

import functools

import numpy as np
import tensorflow as tf

from tfreps.layers import chain
from tfreps.models.hmm_counts import HMMCounts, check_range, flat

MAX_TOKENS = 16384  # of a batch, padding included
COMPILED_TOKENS = 8192  # what stays in the fast memory of a core


def decode(token_ids, log_emissions, scores, jit_compile=False):
    """Tags of each sentence: see `HMMTagger.decode_sentences`."""
    flat_ids, lengths = flat(token_ids)
    check_range("token id", flat_ids, lengths, 1, log_emissions.shape[0] - 1)
    best = in_a_graph(best_tags, log_emissions.shape[1], jit_compile)
    starts = np.cumsum(lengths) - lengths
    tags = np.zeros(len(flat_ids), np.int32)
    for rows, ids in batches(flat_ids, lengths, even=jit_compile):
        found = best(ids, log_emissions, *scores).numpy()[: len(rows)]  # [B, T]
        real = ids[: len(rows)] != 0
        places = starts[rows][:, None] + np.arange(ids.shape[1])  # [B, T]
        tags[places[real]] = found[real]
    return np.split(tags, np.cumsum(lengths)[:-1]) if len(lengths) else []


def best_tags(token_ids, log_emissions, transitions, start, end):
    emissions = tf.gather(log_emissions, token_ids)  # [B, T, K]
    return chain.viterbi(emissions, token_ids != 0, transitions, start, end)[0]


def checked_batches(token_ids, vocabulary_size):
    """Batches of sentences to learn from: list of int32 `[B, T]`, padded with 0."""
    flat_ids, lengths = flat(token_ids)
    check_range("token id", flat_ids, lengths, 1, vocabulary_size)
    if not len(flat_ids):
        raise ValueError(f"There is no token in {len(lengths)} sentences: nothing to learn from.")
    return [ids for _, ids in batches(flat_ids, lengths)]


def expected_counts(batches, log_emissions, scores, has_end):
    """What a model expects of sentences without tags.

    Args:
        batches: list of int32 `[B, T]` token ids, padded with 0.
        log_emissions: float32, shape `[V + 1, K]`.
        scores: log transitions, initial and end: float32 `[K, K]`, `[K]`, `[K]`.
        has_end: bool. Whether ends are counted too.

    Returns:
        The sum of log p(sentence), float, and HMMCounts.
    """
    function = in_a_graph(likelihood_and_gradients, log_emissions.shape[1])
    likelihood, sums = 0.0, [0.0] * 4
    for ids in batches:
        one, gradients = function(ids, log_emissions, *scores)
        likelihood += float(one)
        sums = [np.float64(g.numpy()) + total for g, total in zip(gradients, sums, strict=True)]
    emissions, transitions, initial, end = (np.maximum(total, 0.0) for total in sums)
    emissions[0] = 0.0  # padding
    return likelihood, HMMCounts(initial, transitions, emissions, end if has_end else 0 * end)


def likelihood_and_gradients(token_ids, *tables):
    """Log likelihood of a batch, float64, and its gradients: the expected counts."""
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
def in_a_graph(function, num_tags, jit_compile=False):
    """`function` of token ids, emissions, transitions, initial and end, traced once."""
    shapes = [None, num_tags], [num_tags, num_tags], [num_tags], [num_tags]
    tables = [tf.TensorSpec(shape, "float32") for shape in shapes]
    signature = [tf.TensorSpec([None, None], "int32"), *tables]
    return tf.function(function, signature, jit_compile=jit_compile)


def batches(flat_ids, lengths, even=False):
    """Sentences of like length together, the longest first.

    Args:
        flat_ids: int `[N]`: the ids of all sentences.
        lengths: int `[S]`.
        even: bool. Whether to use few shapes, at the price of padding: `even_lengths`, with one
            number of rows each.

    Yields:
        rows, int `[B]`: which sentences; and int32 ids `[B, T]`, padded with 0. With `even`,
        rows of padding may follow the last sentence.
    """
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 0]
    starts = np.cumsum(lengths) - lengths
    widths = np.array(even_lengths(lengths.max(initial=1)))
    widths = widths[np.searchsorted(widths, lengths)] if even else lengths  # [S]
    most = COMPILED_TOKENS if even else MAX_TOKENS
    while len(order):
        width = widths[order[0]]
        num_rows = max(most // width, 1)
        rows = order[:num_rows]
        if even:
            rows = rows[widths[rows] == width]
        order = order[len(rows) :]
        real = np.arange(width) < lengths[rows][:, None]  # [B, T]
        places = starts[rows][:, None] + np.arange(width)  # [B, T]
        ids = np.zeros([num_rows if even else len(rows), width], np.int32)
        ids[: len(rows)][real] = flat_ids[places[real]]
        yield rows, ids


def even_lengths(highest):
    """8, 12, 16, 24, 32, 48 ... up to the first that is at least `highest`."""
    found = [8]
    while found[-1] < highest:
        found.append(found[-1] * 3 // 2 if len(found) % 2 else found[-1] * 4 // 3)
    return found
