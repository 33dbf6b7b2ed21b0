"""One recursion over the positions of a linear chain: sums, best paths and k best paths."""

from typing import Any, NamedTuple

import tensorflow as tf

# What stands for "impossible". Finite, so that differences of it are no NaN; scores below half
# of it count as impossible. It swallows scores of ordinary size when it is added to them.
FORBIDDEN = -1e30


# Positions that one turn of a loop takes: with more of them graphs grow and gain little.
BLOCK = 4


class Chain(NamedTuple):
    """A batch of chains as the recursions see it: positions first, one state more than tags.

    The last of the `S = K + 1` states is the one before the first tag, so that start scores are
    a row of transitions. A chain stays in its state where the mask is False: left padding,
    holes, right padding and empty sentences are no special cases. `T` is a multiple of BLOCK.

    Args:
        scores: float32, shape `[T, B, S]`; FORBIDDEN for the state before the first tag.
        mask: bool, shape `[T, B, 1]`.
        steps: float32, shape `[S, S]`, [from, to]: transitions, and in the last row start scores.
        ends: float32, shape `[S]`: end scores, and 0 for the sentence without a token.
    """

    scores: Any
    mask: Any
    steps: Any
    ends: Any

    @classmethod
    def of(cls, emissions, mask, transitions, start, end, readable=None):
        """From `[B, T, K]`, `[B, T]`, `[K, K]`, `[K]` and `[K]`; one block or more.

        Emissions outside of `readable`, bool `[B, T]`, by default the mask, count as 0.
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
        """1 for the state before the first tag, else 0: `[B, S]`."""
        last = tf.fill([tf.shape(self.scores)[1]], self.num_states - 1)
        return tf.one_hot(last, self.num_states, dtype=dtype)


def recur(step, state, inputs, outputs, reverse=False):
    """Runs `state, outputs = step(state, *values of inputs at t)` over all positions `t`.

    A plain graph spends more time on the loop than on a step, so that each turn of the loop takes
    BLOCK positions, of whose multiples chains are.

    Args:
        step: function; `state` and `outputs` are tuples of tensors.
        state: tuple of tensors, the first state.
        inputs: list of tensors with positions first, a multiple of BLOCK.
        outputs: list of `tf.TensorSpec`, what `step` puts out.
        reverse: bool. Whether to begin at the last position.

    Returns:
        The last state, and the outputs with positions first, as they were given.
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
        parallel_iterations=1,  # there is nothing to run ahead
    )
    return state, tuple(array.concat() for array in arrays)


def suffix_scores(chain, plus):
    """Score of all that follows a position, for every state there.

        suffix_t[i] = plus_j(steps[i, j] + scores_t[j] + suffix_{t+1}[j]) - scale_t
        suffix_T[i] = ends[i]

    with the highest value of any tag as the scale, so that float32 tells tags apart after
    hundreds of tokens too. Where the mask is False suffixes stay as they are, and the scale is 0.

    Args:
        chain: `Chain`.
        plus: function of `[B, S, S]` that reduces axis 1: `tf.reduce_max`, `log_sum_exp` ...

    Returns:
        Suffixes `[T + 1, B, S]`, scales `[T, B, 1]`, and the total over all paths `[B]`: what the
        state before the first tag has at 0, plus all scales. All float32.
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
    """As `tf.reduce_logsumexp` where nothing is infinite, without its checks."""
    highest = tf.reduce_max(x, axis, keepdims=True)
    total = tf.reduce_sum(tf.exp(x - highest), axis)
    return tf.math.log(total) + tf.squeeze(highest, axis)


def previous_values(values, mask, first):
    """The value at the last real token before each position, and the one at the last of all.

    Args:
        values: tensor, shape `[B, T]`.
        mask: bool, shape `[B, T]`.
        first: scalar, what comes before the first real token.

    Returns:
        Shapes `[B, T]` and `[B]`, the dtype of `values`.

    Example:
    >>> mask = tf.constant([[False, True, False, True]])
    >>> [x.numpy().tolist() for x in previous_values(tf.constant([[5, 6, 7, 8]]), mask, 0)]
    [[[0, 0, 6, 6]], [8]]
    """
    real = tf.cast(mask, "int32")
    rank = tf.cumsum(real, axis=1, exclusive=True)  # [B, T]
    batch, length = tf.unstack(tf.shape(values))
    slots = tf.where(mask, rank + 1, length + 1)  # masked values go where nobody looks
    rows = tf.broadcast_to(tf.range(batch)[:, None], tf.shape(values))
    compact = tf.fill([batch, length + 2], tf.cast(first, values.dtype))
    compact = tf.tensor_scatter_nd_update(compact, tf.stack([rows, slots], -1), values)
    last = tf.gather(compact, tf.reduce_sum(real, 1), batch_dims=1)  # [B]
    return tf.gather(compact, rank, batch_dims=1), last


def is_possible(score):
    """Whether a sum of scores took no forbidden step."""
    return score > 0.5 * FORBIDDEN


def _bounded(x):
    """Not below FORBIDDEN; NaN stays NaN."""
    return tf.maximum(x, FORBIDDEN)


def _in_blocks(x):
    """`[T, ...]` as `[T / BLOCK, BLOCK, ...]`."""
    length, *others = tf.unstack(tf.shape(x))
    return tf.reshape(x, [length // BLOCK, BLOCK, *others])


def best_path(chain):
    """The best path of every chain, walked from the front along the best suffix scores.

    Returns:
        Tags int32 `[T, B]` (without meaning where masked) and score float32 `[B]`.
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
    """The k best paths of every chain, best first.

    From the back, every state keeps its k best ways to the end, and of each the next state and
    which of that state's ways it is; from the front, these are followed.

    Returns:
        Tags int32 `[T, B, k]` (without meaning where masked) and scores float32 `[B, k]`,
        impossible where there are fewer paths.
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
