"""Posterior of spans under a linear chain: of given spans, and of all likely spans.

The posterior of a chain is a Markov chain whose probabilities differ between positions:

    p_t(j | i) = exp(steps[i, j] + onward_t[j] - before_t[i])

The probability of a span is the probability of the state before the span, times the probabilities
of a step that begins the span, of steps inside the span and of a step that ends the span, summed
over the states.
`tfreps._src.text.tags.span_states` defines these steps. All values are logarithms, and none is
larger than the scores of a few tokens, so that float32 is enough for sentences of any length.
"""

import math
from typing import Any, NamedTuple

import tensorflow as tf

from tfreps._src.layers.ops.chain_gradient import expected_counts, forward_backward, if_exact
from tfreps._src.layers.ops.chain_recursion import (
    FORBIDDEN,
    Chain,
    is_possible,
    log_sum_exp,
    suffix_scores,
)
from tfreps._src.layers.ops.portable import is_portable
from tfreps._src.layers.ops.position_loop import recur


def span_log_probability(emissions, spans, mask, transitions, start, end, states):
    """Computes the log probability that a tag sequence contains each span, float32 `[B, N]`.

    Args:
        emissions, mask, transitions, start, end: As in `ops.chain`, float32 and bool.
        spans: int32, shape `[B, N, 3]`: type, start and end (exclusive) of each span. Starts and
            ends count the real tokens of the sentence.
        states: `SpanStates`, as arrays or tensors.

    Returns:
        float32 `[B, N]`, at most 0. It is `-inf` for spans that no sequence contains, such as
        padding and spans beyond the end of the sentence, and NaN for other spans of a sentence with
        a NaN or `+inf` at a real token. The result has no gradient.
    """
    if not states.members.shape[0]:  # the tags have no types, such as ["O"]
        return tf.fill(tf.shape(spans)[:2], float("-inf"))
    chain = _refined(emissions, mask, transitions, start, end, states)
    steps = _SpanSteps.of(chain, states)
    posterior = _Posterior.of(chain)
    length = tf.reduce_sum(tf.cast(mask, "int32"), 1, keepdims=True)  # [B, 1]
    kind, first, last = tf.unstack(tf.cast(spans, "int32"), axis=-1)  # [B, N]
    valid = (kind >= 0) & (kind < steps.num_types) & (first >= 0) & (first < last)
    valid &= last <= length
    kind, first, last = (tf.where(valid, x, 0) for x in (kind, first, last))
    size = tf.shape(chain.scores)[0]
    position = size - length + first  # [B, N], position of the first token of each span
    rows = tf.broadcast_to(tf.range(tf.shape(mask)[0])[:, None], tf.shape(kind))

    def at(values, position):
        return tf.gather_nd(values, tf.stack([tf.minimum(position, size - 1), rows], -1))

    def body(step, value):
        here = position + step
        new = steps.stay(value, kind, at(posterior.before, here), at(posterior.onward, here))
        return step + 1, tf.where(tf.expand_dims(step < last - first, -1), new, value)

    value = steps.enter(kind, at(posterior.ready(), position), at(posterior.onward, position))
    longest = tf.reduce_max(last - first)
    _, value = tf.while_loop(lambda step, _: step < longest, body, (1, value))
    after = position + last - first
    inner = steps.leave(value, kind, at(posterior.before, after), at(posterior.onward, after))
    value = tf.where(last < length, inner, steps.leave_at_end(value, kind))
    possible = valid & is_possible(value) & is_possible(posterior.total)[:, None]
    value = tf.where(possible, tf.minimum(value, 0.0), float("-inf"))
    is_nan = valid & tf.math.is_nan(posterior.total)[:, None]
    return tf.stop_gradient(tf.where(is_nan, float("nan"), value))


def likely_spans(emissions, mask, transitions, start, end, states, threshold):
    """Returns all spans whose probability is at least `threshold`, the most probable ones first.

    In a tag sequence, at most one span covers a token, so the probabilities of all spans that cover
    this token have a sum of at most 1. At each token, the search continues only the `floor(1 /
    threshold) + 1` spans that are most likely to cover the token, because no other span can reach
    the threshold. The time is proportional to the number of tokens, whatever the length of the
    spans.

    Args:
        emissions, mask, transitions, start, end: As in `ops.chain`, float32 and bool.
        states: `SpanStates`, as arrays or tensors.
        threshold: float from 0.001 to 1.

    Returns:
        Tuple `(spans, log_probabilities)`. `spans` is int32 `[B, N, 3]`: type, start and end
        (exclusive) of each span, counted in real tokens, or (-1, 0, 0) for padding.
        `log_probabilities` is float32 `[B, N]`, `-inf` for padding. A sentence with a NaN or
        `+inf` at a real token has no spans.
    """
    if not states.members.shape[0]:  # the tags have no types, such as ["O"]
        rows = tf.shape(mask)[0]
        return tf.zeros([rows, 0, 3], "int32"), tf.zeros([rows, 0])
    chain = _refined(emissions, mask, transitions, start, end, states)
    steps = _SpanSteps.of(chain, states)
    posterior = _Posterior.of(chain)
    lowest = math.log(threshold)
    num_kept = int(1.0 / threshold) + 1
    size, batch = tf.unstack(tf.shape(chain.scores)[:2])
    types = tf.tile(tf.range(steps.num_types)[None], [batch, 1])  # [B, types]

    def of(number, values):
        return tf.repeat(values[:, None], number, 1)  # [B, number, S]

    def step(state, ready, onward, before, position):
        value, kind, first = state  # [B, M, W], [B, M], [B, M]
        before, here = of(num_kept, before), of(num_kept, onward)
        ended = steps.leave(value, kind, before, here), kind, first
        value = steps.stay(value, kind, before, here)
        new = steps.enter(types, of(steps.num_types, ready), of(steps.num_types, onward))
        value = tf.concat([value, new], 1)  # [B, M + types, W]
        kind = tf.concat([kind, types], 1)
        first = tf.concat([first, tf.fill(tf.shape(types), position)], 1)
        _, best = tf.math.top_k(log_sum_exp(value, -1), num_kept)  # [B, M]
        return [tf.gather(x, best, batch_dims=1) for x in (value, kind, first)], ended

    nothing = tf.zeros([batch, num_kept], "int32")
    state = [tf.fill([batch, num_kept, steps.width], FORBIDDEN), nothing, nothing]
    inputs = [posterior.ready(), posterior.onward, posterior.before, tf.range(size)]
    row = tf.TensorSpec([None, num_kept]), tf.TensorSpec([None, num_kept], "int32")
    (value, kind, first), (found, kinds, firsts) = recur(step, state, inputs, [*row, row[1]])
    found = tf.concat([found, steps.leave_at_end(value, kind)[None]], 0)  # [P + 1, B, M]
    kinds, firsts = tf.concat([kinds, kind[None]], 0), tf.concat([firsts, first[None]], 0)
    lasts = tf.broadcast_to(tf.range(size + 1)[:, None, None], tf.shape(found))
    offset = (size - tf.reduce_sum(tf.cast(mask, "int32"), 1))[None, :, None]
    spans = tf.stack([kinds, firsts - offset, lasts - offset], -1)  # [P + 1, B, M, 3]
    fine = is_possible(posterior.total)[None, :, None] & (found >= lowest)
    return _best_first(spans, tf.minimum(found, 0.0), fine)


def _best_first(spans, values, kept):
    """Returns the spans of each sentence that are marked in `kept`, and their values.

    The arguments are `[Q, B, M, 3]`, `[Q, B, M]` and `[Q, B, M]`. The results are `[B, N, 3]` and
    `[B, N]`, in the order of decreasing values, with padding at the end.
    """
    spans, values, kept = (
        tf.reshape(x, [tf.shape(x)[0], -1, *x.shape[3:]])
        for x in (tf.experimental.numpy.swapaxes(x, 0, 1) for x in (spans, values, kept))
    )
    values = tf.where(kept, values, float("-inf"))  # [B, (P + 1) * M]
    longest = tf.maximum(tf.reduce_max(tf.math.count_nonzero(kept, 1, dtype="int32")), 0)
    values, best = tf.math.top_k(values, longest)  # [B, N]
    spans = tf.gather(spans, best, batch_dims=1)
    return tf.where(tf.math.is_finite(values)[..., None], spans, [-1, 0, 0]), values


def _refined(emissions, mask, transitions, start, end, states):
    """Returns the `Chain` over `SpanStates`, in which a path has the score of its tag sequence."""
    tags = states.tags
    by_state = tf.gather(tf.gather(transitions, tags), tags, axis=1)
    steps = tf.concat([by_state, tf.gather(start, tags)[None]], 0)  # [S + 1, S]
    steps = tf.where(states.steps[:, :-1], steps, float("-inf"))
    emissions = tf.gather(emissions, tags, axis=2)
    chain = Chain.of(emissions, mask, steps[:-1], steps[-1], tf.gather(end, tags))
    return Chain(*(tf.stop_gradient(x) for x in chain))


class _Posterior(NamedTuple):
    """Posterior of a chain: the probability of each state and of each step between states.

    A step from state `i` to tag `j` at position `t` has the probability

        p_t(j | i) = exp(steps[i, j] + onward_t[j] - before_t[i])

    as in `chain_gradient.expected_counts`. `onward` and `before` are float32 `[P, B, S]`; `flow` is
    the log of the probability of each state before a position, `[P, B, S]`; and `total` is the log
    normalizer, `[B]`.
    """

    onward: Any
    before: Any
    flow: Any
    total: Any

    @classmethod
    def of(cls, chain):
        fast = None if is_portable() else forward_backward(chain)
        found = if_exact(fast, lambda: _fast(chain, fast), lambda: _in_log_space(chain))
        return cls(*found)

    def ready(self):
        """Returns the part of the probability of a step that depends only on its first state.

        It is `flow - before`, float32 `[P, B, S]`, and FORBIDDEN for states that do not occur.
        """
        return _difference(self.flow, self.before)


def _fast(chain, fast):
    onward = fast["factors"] * fast["suffixes"]  # [P, B, S]
    highest = tf.reduce_max(onward, -1, keepdims=True)
    onward = onward / highest
    size = chain.num_states
    before = tf.matmul(tf.reshape(onward, [-1, size]), fast["steps"], transpose_b=True)
    before = tf.reshape(before, tf.shape(onward))
    first = chain.before_the_first("float64")
    flow = tf.concat([first[None], fast["prefixes"][:-1]], 0) * before  # [P, B, S]
    flow = flow / tf.reduce_sum(flow, -1, keepdims=True)
    onward, before, flow = (_log(x) for x in (onward, before, flow))
    before = tf.where(is_possible(before), before + tf.reduce_max(chain.steps), FORBIDDEN)
    return onward, before, flow, fast["value"]


def _in_log_space(chain):
    suffixes, scales, total = suffix_scores(chain)
    flow, _, _ = expected_counts(chain, suffixes, scales, chain.before_the_first())
    flow = tf.concat([chain.before_the_first()[None], flow[:-1]], 0)
    return chain.scores + suffixes[1:], suffixes[:-1] + scales, _log(flow), total


class _SpanSteps(NamedTuple):
    """Scores of the steps that begin, continue and end spans, for N spans of each sentence.

    In the methods, `kind` is the type of each span, int32 `[B, N]`; `ready`, `before` and `onward`
    are the values of `_Posterior` at a position of each span, `[B, N, S]`; and `value` is the
    log probability that a span has begun and that its last token so far is in each of the `W`
    states of its type, `[B, N, W]`.
    """

    members: Any  # [types, W]
    begin: Any  # [types, W, S], [to, from]
    inside: Any  # [types, W, W], [to, from]
    end: Any  # [types, W, S], [from, to]
    at_end: Any  # [types, W]

    @classmethod
    def of(cls, chain, states):
        members = tf.convert_to_tensor(states.members)
        begin = tf.gather(tf.transpose(_where(states.begins, chain.steps)), members)
        among = tf.gather(tf.gather(chain.steps, members), members, axis=2, batch_dims=1)
        inside = tf.transpose(_where(states.stays, among), [0, 2, 1])
        end = tf.gather(_where(states.ends, chain.steps), members)
        at_end = tf.gather(_where(states.ends[:, -1], 0.0), members)
        return cls(members, begin, inside, end, at_end)

    @property
    def num_types(self):
        return self.members.shape[0]

    @property
    def width(self):
        return self.members.shape[1]

    def enter(self, kind, ready, onward):
        """Returns the log probability of each state after a span's first token, `[B, N, W]`."""
        value = log_sum_exp(tf.gather(self.begin, kind) + tf.expand_dims(ready, 2), -1)
        return tf.maximum(value + self._of(onward, kind), FORBIDDEN)

    def stay(self, value, kind, before, onward):
        """Returns the log probability of each state after one more token of a span, `[B, N, W]`.

        `value` is this log probability before the token.
        """
        value = _difference(value, self._of(before, kind))
        value = log_sum_exp(tf.gather(self.inside, kind) + tf.expand_dims(value, 2), -1)
        return tf.maximum(value + self._of(onward, kind), FORBIDDEN)

    def leave(self, value, kind, before, onward):
        """Returns the log probability that each span ends before a token, `[B, N]`."""
        value = _difference(value, self._of(before, kind))
        value += log_sum_exp(tf.gather(self.end, kind) + tf.expand_dims(onward, 2), -1)
        return log_sum_exp(tf.maximum(value, FORBIDDEN), -1)

    def leave_at_end(self, value, kind):
        """Returns the log probability that each span ends at the last token, `[B, N]`."""
        return log_sum_exp(tf.maximum(value + tf.gather(self.at_end, kind), FORBIDDEN), -1)

    def _of(self, values, kind):
        """Returns the `values`, `[B, N, S]`, of the states of each span's type: `[B, N, W]`."""
        return tf.gather(values, tf.gather(self.members, kind), batch_dims=2)


def _where(allowed, scores):
    return tf.where(allowed, scores, FORBIDDEN)


def _difference(value, before):
    """Returns `value - before`, and FORBIDDEN where `value` or `before` is FORBIDDEN."""
    return tf.where(is_possible(value) & is_possible(before), value - before, FORBIDDEN)


def _log(x):
    return tf.maximum(tf.cast(tf.math.log(x), "float32"), FORBIDDEN)
