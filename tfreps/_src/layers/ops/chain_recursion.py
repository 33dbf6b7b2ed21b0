"""Recursion over the positions of a linear chain: sums, best paths and k best paths."""

from typing import Any, NamedTuple

import tensorflow as tf

# Score of an impossible step. It is finite, so that its differences are not NaN. Scores below half
# of it count as impossible. Adding an ordinary score to it does not change it in float32.
FORBIDDEN = -1e30


# Positions per loop iteration. More positions make graphs larger and only slightly faster.
BLOCK = 4


class Chain(NamedTuple):
    """Batch of chains in the layout of the recursions, with positions on the first axis.

    The last of the `S = K + 1` states is the one before the first tag, so that the start scores
    are a row of transitions. Where the mask is False, a chain keeps its state, so that padding on
    either side, gaps and empty sentences need no special cases. `T` is a multiple of BLOCK.

    Args:
        scores: float32, shape `[T, B, S]`. Emissions, followed by FORBIDDEN for the state before
            the first tag.
        mask: bool, shape `[T, B, 1]`. True on real tokens.
        steps: float32, shape `[S, S]`, [from, to]. Transitions, with the start scores as the last
            row.
        ends: float32, shape `[S]`. End scores, followed by 0 for a sentence without tokens.
    """

    scores: Any
    mask: Any
    steps: Any
    ends: Any

    @classmethod
    def of(cls, emissions, mask, transitions, start, end, readable=None):
        """Creates a `Chain` from the arguments of the functions in `layers.ops.chain`.

        Emissions are replaced with 0 where `readable`, bool `[B, T]`, is False; by default, where
        the mask is. The positions are padded to a multiple of BLOCK, at least one block.
        """
        readable = mask if readable is None else readable
        emissions = tf.where(readable[..., None], emissions, 0.0)
        length = tf.shape(emissions)[1]
        missing = tf.maximum(-length % BLOCK, BLOCK - length)  # 0 to BLOCK
        scores = tf.pad(
            tf.transpose(emissions, [1, 0, 2]),
            [[0, missing], [0, 0], [0, 1]],
            constant_values=FORBIDDEN,
        )  # [T, B, S]
        steps = tf.concat([transitions, start[None]], 0)  # [S, K]
        steps = tf.pad(steps, [[0, 0], [0, 1]], constant_values=FORBIDDEN)  # [S, S]
        mask = tf.pad(tf.transpose(mask), [[0, missing], [0, 0]])[..., None]  # [T, B, 1]
        ends = tf.concat([end, tf.zeros([1])], 0)  # [S]
        return cls(_bounded(scores), mask, _bounded(steps), _bounded(ends))

    @property
    def num_states(self):
        return self.scores.shape[-1]

    def before_the_first(self, dtype="float32"):
        """Returns 1 for the state before the first tag and 0 for all others, shape `[B, S]`."""
        last = tf.fill([tf.shape(self.scores)[1]], self.num_states - 1)
        return tf.one_hot(last, self.num_states, dtype=dtype)


def recur(step, state, inputs, outputs, reverse=False):
    """Runs `state, outputs = step(state, *values of inputs at t)` for all positions `t`.

    The inputs have the positions on the first axis, their number is a multiple of BLOCK, and
    `outputs` are the specs of the outputs at one position. Returns the final state, and the outputs
    with the positions on the first axis, in their original order also with `reverse`. In a plain
    graph, the overhead of a loop iteration exceeds the time of a step; each iteration therefore
    processes BLOCK positions.
    """
    inputs = [_in_blocks(array) for array in inputs]  # [T / BLOCK, BLOCK, ...]
    num_blocks = tf.shape(inputs[0])[0]
    arrays = tuple(
        tf.TensorArray(spec.dtype, num_blocks, element_shape=[BLOCK, *spec.shape])
        for spec in outputs
    )
    order = range(BLOCK)[::-1] if reverse else range(BLOCK)

    def body(block, state, arrays):
        values = [tf.unstack(tf.gather(array, block)) for array in inputs]
        rows = [None] * BLOCK
        for t in order:
            state, rows[t] = step(state, *(value[t] for value in values))
        rows = zip(*rows, strict=True)
        arrays = tuple(a.write(block, tf.stack(r)) for a, r in zip(arrays, rows, strict=True))
        return block - 1 if reverse else block + 1, state, arrays

    _, state, arrays = tf.while_loop(
        lambda block, *_: block >= 0 if reverse else block < num_blocks,
        body,
        (num_blocks - 1 if reverse else 0, state, arrays),
        maximum_iterations=num_blocks,
        parallel_iterations=1,  # each iteration depends on the previous one
    )
    return state, tuple(array.concat() for array in arrays)


def suffix_scores(chain, plus):
    """Computes the score of each chain from each position to the end, for every previous state.

        suffix_t[i] = plus_j(steps[i, j] + scores_t[j] + suffix_{t+1}[j]) - scale_t
        suffix_T[i] = ends[i]

    `plus` reduces axis 1 of `[B, S, S]`: `tf.reduce_max` or `log_sum_exp`. The scale is the maximum
    of `plus_j(...)` over all tags `i`, or 0 if no tag is possible. Subtracting it lets float32
    distinguish the tags even after hundreds of tokens. Where the mask is False, suffixes are
    unchanged and the scale is 0. Returns the suffixes `[T + 1, B, S]`, the scales `[T, B, 1]` and
    the result over all paths, `[B]`.
    """
    into = tf.transpose(chain.steps)  # [to, from]

    def step(state, scores, mask):
        (suffix,) = state
        new = plus(into + tf.expand_dims(scores + suffix, 2), axis=1)  # [B, S]
        scale = tf.reduce_max(new[:, :-1], -1, keepdims=True)  # [B, 1]
        scale = tf.where(is_possible(scale), scale, 0.0)
        suffix = tf.where(mask, new - scale, suffix)
        return (suffix,), (suffix, scale)

    last = tf.broadcast_to(chain.ends, tf.shape(chain.scores)[1:])  # [B, S]
    specs = [tf.TensorSpec([None, chain.num_states]), tf.TensorSpec([None, 1])]
    inputs = [chain.scores, chain.mask]
    (first,), (suffixes, scales) = recur(step, (last,), inputs, specs, reverse=True)
    scales = tf.where(chain.mask, scales, 0.0)
    total = first[:, -1] + tf.reduce_sum(scales[..., 0], 0)
    return tf.concat([suffixes, last[None]], 0), scales, total


def log_sum_exp(x, axis):
    """Computes `tf.reduce_logsumexp` without its checks for infinite values."""
    highest = tf.reduce_max(x, axis, keepdims=True)
    total = tf.reduce_sum(tf.exp(x - highest), axis)
    return tf.math.log(total) + tf.squeeze(highest, axis)


def previous_values(values, mask, first):
    """Returns the value at the last real token before each position and before the end of the row.

    The values and the mask are `[B, T]`, and the results `[B, T]` and `[B]`. `first` is the value
    where no real token precedes.

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
    """Replaces values below FORBIDDEN with FORBIDDEN; NaN stays NaN."""
    return tf.maximum(x, FORBIDDEN)


def _in_blocks(x):
    """Reshapes `[T, ...]` to `[T / BLOCK, BLOCK, ...]`."""
    length, *others = tf.unstack(tf.shape(x))
    return tf.reshape(x, [length // BLOCK, BLOCK, *others])


def best_path(chain):
    """Returns the best path of every chain, int32 `[T, B]`, and its score, `[B]`.

    It follows the best suffix scores forward. Tags are undefined where masked.
    """
    suffixes, _, total = suffix_scores(chain, tf.reduce_max)

    def step(state, onward, mask):
        (tag,) = state  # [B]
        chosen = tf.argmax(tf.gather(chain.steps, tag) + onward, -1, output_type=tf.int32)
        tag = tf.where(mask, chosen, tag)
        return (tag,), (tag,)

    first = tf.fill([tf.shape(chain.scores)[1]], chain.num_states - 1)
    inputs = [chain.scores + suffixes[1:], chain.mask[..., 0]]
    _, (tags,) = recur(step, (first,), inputs, [tf.TensorSpec([None], "int32")])
    return tags, total


def k_best_paths(chain, k):
    """Returns the `k` best paths of every chain, int32 `[T, B, k]`, and their scores, `[B, k]`.

    A backward pass stores the `k` best suffixes of every state, each with its next state and the
    rank of its remainder among the suffixes of that state. A forward pass follows them. Tags are
    undefined where masked. `is_possible` is False for the scores of paths that do not exist.
    """
    batch = tf.shape(chain.scores)[1]
    states = chain.num_states

    def back(state, scores, mask):
        (suffix,) = state  # [B, S, k]
        onward = tf.reshape(scores[..., None] + suffix, [batch, 1, states * k])
        into = tf.repeat(chain.steps, k, axis=1)  # [from, to * k]
        best, choices = tf.math.top_k(into + onward, k)  # [B, S, k]
        suffix = tf.where(mask[..., None], best, suffix)
        return (suffix,), (choices,)

    last = tf.pad(chain.ends[:, None], [[0, 0], [0, k - 1]], constant_values=FORBIDDEN)
    last = tf.broadcast_to(last, [batch, states, k])
    spec = tf.TensorSpec([None, states, k], "int32")
    inputs = [chain.scores, chain.mask]
    (suffix,), (choices,) = recur(back, (last,), inputs, [spec], reverse=True)

    def ahead(state, choices, mask):
        tag, way = state  # [B, k]
        choice = tf.gather_nd(choices, tf.stack([tag, way], -1), batch_dims=1)
        tag = tf.where(mask, choice // k, tag)
        way = tf.where(mask, choice % k, way)
        return (tag, way), (tag,)

    first = tf.fill([batch, k], states - 1), tf.broadcast_to(tf.range(k), [batch, k])
    _, (tags,) = recur(ahead, first, [choices, chain.mask], [tf.TensorSpec([None, k], "int32")])
    return tags, suffix[:, -1]
