"""Recursion over the positions of a linear chain: sums, best paths and k best paths."""

from typing import Any, NamedTuple

import tensorflow as tf

from tfreps._src.layers.ops.position_loop import BLOCK, recur, whole_blocks

# Score of an impossible step. It is finite, so that differences of scores are not NaN. Scores below
# half of this score count as impossible. In float32, adding an ordinary score does not change it.
FORBIDDEN = -1e30


class Chain(NamedTuple):
    """Batch of chains in the layout of the recursions, with positions on the first axis.

    The last of the `S = K + 1` states is the one before the first tag, so that the start scores
    are a row of transitions. The real tokens of a sentence are moved to the last of the `P`
    positions. At the positions before them, the sentence is in the state before the first tag: this
    state has score 0 there, and all tags are forbidden. Padding on either side, gaps and empty
    sentences therefore need no special cases in a recursion. `P` is a multiple of BLOCK.

    Args:
        scores: float32, shape `[P, B, S]`. Emissions, followed by FORBIDDEN for the state before
            the first tag.
        steps: float32, shape `[S, S]`, [from, to]. Transitions, with the start scores as the last
            row.
        ends: float32, shape `[S]`. End scores, followed by 0 for a sentence without tokens.
        places: int32, shape `[B, T, 2]`. Position and sentence of each token, which are indices of
            `scores`. The position is `P` for masked tokens.
    """

    scores: Any
    steps: Any
    ends: Any
    places: Any

    @classmethod
    def of(cls, emissions, mask, transitions, start, end):
        """Creates a `Chain` from the arguments of the functions in `layers.ops.chain`."""
        batch, num_tokens = tf.unstack(tf.shape(mask))
        size = tf.maximum(whole_blocks(num_tokens), BLOCK)
        remaining = tf.cumsum(tf.cast(mask, "int32"), 1, reverse=True)  # [B, T]
        positions = size - tf.where(mask, remaining, 0)
        rows = tf.broadcast_to(tf.range(batch)[:, None], [batch, num_tokens])
        places = tf.stack([positions, rows], -1)
        steps = tf.pad(transitions, [[0, 0], [0, 1]], constant_values=FORBIDDEN)
        steps = tf.concat([steps, tf.pad(start, [[0, 1]])[None]], 0)  # [S, S]
        ends = tf.pad(end, [[0, 1]])  # [S]
        states = steps.shape[-1]
        no_token = tf.one_hot(states - 1, states, 0.0, FORBIDDEN)
        no_tokens = tf.broadcast_to(no_token, [size, batch, states])
        chain = cls(no_tokens, _bounded(steps), _bounded(ends), places)
        scores = tf.pad(emissions, [[0, 0], [0, 0], [0, 1]], constant_values=FORBIDDEN)
        return chain._replace(scores=chain.by_position(_bounded(scores), no_tokens))

    @property
    def num_states(self):
        return self.steps.shape[-1]

    def before_the_first(self, dtype="float32"):
        """Returns 1 for the state before the first tag and 0 for all others, shape `[B, S]`."""
        first = tf.one_hot(self.num_states - 1, self.num_states, dtype=dtype)
        return tf.tile(first[None], [tf.shape(self.scores)[1], 1])

    def by_position(self, values, others):
        """Moves values of the tokens, `[B, T, S]`, to the positions of the tokens, `[P, B, S]`.

        Positions without a token get the values `others`, `[P, B, S]`.
        """
        others = tf.pad(others, [[0, 1], [0, 0], [0, 0]])  # the last position is for masked tokens
        return tf.tensor_scatter_nd_update(others, self.places, values)[:-1]

    def by_token(self, values):
        """Moves values of the positions, `[P, B, ...]`, to their tokens, `[B, T, ...]`.

        Masked tokens get the value 0.
        """
        values = tf.pad(values, [[0, 1]] + [[0, 0]] * (values.shape.rank - 1))
        return tf.gather_nd(values, self.places)


def suffix_scores(chain):
    """Computes the log of the sum of `exp(score)` over all suffixes, for each previous state.

    A suffix is the part of a path from a position to the end.

        suffix_t[i] = logsumexp_j(steps[i, j] + scores_t[j] + suffix_{t+1}[j]) - scale_t
        suffix_P[i] = ends[i]

    The scale is the maximum of `logsumexp_j(...)` over all tags `i`, or 0 if no tag is possible.
    Subtracting it lets float32 distinguish the tags even after hundreds of tokens. Returns the
    suffixes `[P + 1, B, S]`, the scales `[P, B, 1]` and the log of the sum over all paths, `[B]`.
    """

    def step(state, scores):
        (suffix,) = state
        new = log_sum_exp(chain.steps + tf.expand_dims(scores + suffix, 1), 2)  # [B, S]
        scale = _scale(new[:, :-1])  # [B, 1]
        suffix = new - scale
        return (suffix,), (suffix, scale)

    last = tf.broadcast_to(chain.ends, tf.shape(chain.scores)[1:])  # [B, S]
    specs = [tf.TensorSpec([None, chain.num_states]), tf.TensorSpec([None, 1])]
    (first,), (suffixes, scales) = recur(step, (last,), [chain.scores], specs, reverse=True)
    total = first[:, -1] + tf.reduce_sum(scales[..., 0], 0)
    return tf.concat([suffixes, last[None]], 0), scales, total


def log_sum_exp(x, axis):
    """Computes `tf.reduce_logsumexp` without its checks for infinite values."""
    highest = tf.reduce_max(x, axis, keepdims=True)
    total = tf.reduce_sum(tf.exp(x - highest), axis)
    return tf.math.log(total) + tf.squeeze(highest, axis)


def previous_values(values, mask, first):
    """Returns the last real value before each position, and the last real value of each row.

    The values and the mask are `[B, T]`, and the results `[B, T]` and `[B]`. `first` is the value
    where there is no earlier real token.

    >>> mask = tf.constant([[False, True, False, True]])
    >>> [x.numpy().tolist() for x in previous_values(tf.constant([[5, 6, 7, 8]]), mask, 0)]
    [[[0, 0, 6, 6]], [8]]
    """
    real = tf.cast(mask, "int32")
    rank = tf.cumsum(real, axis=1, exclusive=True)  # [B, T]
    batch, length = tf.unstack(tf.shape(values))
    slots = tf.where(mask, rank + 1, length + 1)  # the last slot, for masked values, is not read
    rows = tf.broadcast_to(tf.range(batch)[:, None], tf.shape(values))
    compact = tf.fill([batch, length + 2], tf.cast(first, values.dtype))
    compact = tf.tensor_scatter_nd_update(compact, tf.stack([rows, slots], -1), values)
    last = tf.gather(compact, tf.reduce_sum(real, 1), batch_dims=1)  # [B]
    return tf.gather(compact, rank, batch_dims=1), last


def is_possible(score):
    """Returns True where a sum of scores contains no forbidden tag or step."""
    return score > 0.5 * FORBIDDEN


def _bounded(x):
    """Returns `x` with values below FORBIDDEN replaced by FORBIDDEN; NaN stays NaN."""
    return tf.maximum(x, FORBIDDEN)


def best_path(chain):
    """Returns the best path of every chain, int32 `[P, B]`, and its score, `[B]`.

        suffix_t[i] = max_j(steps[i, j] + onward_t[j])
        onward_t[j] = scores_t[j] + suffix_{t+1}[j]
        tag_t       = argmax_j(steps[tag_{t-1}, j] + onward_t[j])

    The suffixes are the scores of the best continuations. After each block of positions, their
    maximum is subtracted, so that float32 stays precise.
    """
    into = tf.transpose(chain.steps)  # [to, from]

    def back(state, scores):
        suffix, total = state  # [B, S], [B, 1]
        onward = scores + suffix
        suffix = tf.reduce_max(into + tf.expand_dims(onward, 2), 1)
        return (suffix, total), (onward,)

    def scaled(state):
        suffix, total = state
        scale = _scale(suffix[:, :-1])
        return suffix - scale, total + scale

    def ahead(state, onward):
        (tag,) = state  # [B]
        tag = tf.argmax(tf.gather(chain.steps, tag) + onward, -1, output_type=tf.int32)
        return (tag,), (tag,)

    last = tf.broadcast_to(chain.ends, tf.shape(chain.scores)[1:])  # [B, S]
    state = last, tf.zeros_like(last[:, :1])
    spec = tf.TensorSpec([None, chain.num_states])
    (suffix, total), (onward,) = recur(back, state, [chain.scores], [spec], True, scaled)
    first = tf.fill([tf.shape(last)[0]], chain.num_states - 1)
    _, (tags,) = recur(ahead, (first,), [onward], [tf.TensorSpec([None], "int32")])
    return tags, suffix[:, -1] + total[:, 0]


def k_best_paths(chain, k):
    """Returns the `k` best paths of every chain, int32 `[P, B, k]`, and their scores, `[B, k]`.

    A suffix is the part of a path from a position to the end. A backward pass finds the `k` best
    suffixes after every state, and stores for each suffix its first tag, and the rank of the rest
    among the suffixes after this tag. A forward pass follows the stored tags and ranks. If fewer
    than `k` paths exist, `is_possible` is False for the scores of the missing paths.
    """
    batch = tf.shape(chain.scores)[1]
    states = chain.num_states

    def back(state, scores):
        (suffix,) = state  # [B, S, k]
        onward = tf.reshape(tf.expand_dims(scores, 2) + suffix, [batch, 1, states * k])
        into = tf.repeat(chain.steps, k, axis=1)  # [from, to * k]
        suffix, choices = tf.math.top_k(into + onward, k)  # [B, S, k]
        return (suffix,), (choices,)

    last = tf.pad(chain.ends[:, None], [[0, 0], [0, k - 1]], constant_values=FORBIDDEN)
    last = tf.broadcast_to(last, [batch, states, k])
    spec = tf.TensorSpec([None, states, k], "int32")
    (suffix,), (choices,) = recur(back, (last,), [chain.scores], [spec], reverse=True)

    def ahead(state, choices):
        tag, way = state  # [B, k]
        choice = tf.gather_nd(choices, tf.stack([tag, way], -1), batch_dims=1)
        tag, way = choice // k, choice % k
        return (tag, way), (tag,)

    first = tf.fill([batch, k], states - 1), tf.broadcast_to(tf.range(k), [batch, k])
    _, (tags,) = recur(ahead, first, [choices], [tf.TensorSpec([None, k], "int32")])
    return tags, suffix[:, -1]


def _scale(scores):
    """Returns the largest of the scores `[B, K]`, or 0 if none is possible, as `[B, 1]`."""
    highest = tf.reduce_max(scores, -1, keepdims=True)
    return tf.where(is_possible(highest), highest, 0.0)
