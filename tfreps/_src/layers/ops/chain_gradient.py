"""Log normalizer of linear chains and its gradient (forward-backward)."""

import tensorflow as tf

from tfreps._src.layers.ops.chain_recursion import (
    FORBIDDEN,
    Chain,
    is_possible,
    log_sum_exp,
    previous_values,
    recur,
    suffix_scores,
)

# Largest difference between the scores of a step for which probability space is used: exp(-80) is
# a normal float32.
WIDEST_STEP = 80.0
# Smallest sum in probability space: multiplied by exp(-160), it is still a normal float64.
SMALLEST = 1e-200
TINY = 1e-30


def log_normalizer(emissions, mask, transitions, start, end):
    """Implements `chain.log_normalizer` for float32 scores and a bool mask."""

    @tf.custom_gradient
    def run(emissions, transitions, start, end):
        chain = Chain.of(emissions, mask, transitions, start, end)
        fast = _forward_backward(chain)
        value, *suffixes = tf.cond(
            fast["exact"], lambda: _nothing(chain, fast["value"]), lambda: _in_log_space(chain)
        )

        def in_log_space(d_value):
            return expected_counts(chain, *suffixes, chain.before_the_first() * d_value[:, None])

        def gradient(d_value):
            d_value = tf.where(is_possible(value) | (value != value), d_value, 0.0)
            d_scores, d_steps, d_ends = tf.cond(
                fast["exact"],
                lambda: _fast_gradient(chain, fast, d_value),
                lambda: in_log_space(d_value),
            )
            d_emissions = tf.transpose(d_scores, [1, 0, 2])[:, : tf.shape(emissions)[1], :-1]
            gradients = d_emissions, d_steps[:-1, :-1], d_steps[-1, :-1], d_ends[:-1]
            return [_only_once(d) for d in gradients]

        return tf.where(is_possible(value), value, float("-inf") + 0.0 * value), gradient

    return run(emissions, transitions, start, end)


def token_log_probabilities(tags, emissions, mask, transitions, start, end):
    """Implements `layers.ops.chain.token_log_probabilities`, for int32 tags.

    Each value is the score of one step and one token, plus the suffix score after the token,
    minus the suffix score before it. Apart from the terms of that step and token, the gradient of
    the value is therefore the difference between the `expected_counts` of a walk that begins after
    the token and those of a walk that begins before it.
    """
    tags = tf.where(mask, tags, 0)

    @tf.custom_gradient
    def run(emissions, transitions, start, end):
        chain = Chain.of(emissions, mask, transitions, start, end)
        tokens = tf.shape(mask)[1]
        real = tf.cast(mask, "float32")
        size = chain.num_states
        suffixes, scales, total = suffix_scores(chain, log_sum_exp)
        before, _ = previous_values(tags, mask, size - 1)
        steps = tf.gather_nd(chain.steps, tf.stack([before, tags], -1))  # [B, T]
        token = tf.gather(tf.transpose(chain.scores, [1, 0, 2])[:, :tokens], tags, batch_dims=2)
        by_row = tf.transpose(suffixes, [1, 0, 2])  # [B, T + 1, S]
        after = tf.gather(by_row[:, 1 : tokens + 1], tags, batch_dims=2)
        whole = tf.gather(
            by_row[:, :tokens] + tf.transpose(scales, [1, 0, 2])[:, :tokens], before, batch_dims=2
        )
        possible = is_possible(steps + token + after) & is_possible(whole)
        possible &= is_possible(total)[:, None]
        value = tf.minimum(steps + token + after - whole, 0.0)
        value = tf.where(possible, value, tf.where(value != value, value, FORBIDDEN))

        def gradient(d_value):
            d_value = tf.where(mask & possible, d_value, 0.0)  # [B, T]
            d_next, d_first = previous_values(d_value[:, ::-1], mask[:, ::-1], 0.0)
            begin = tf.one_hot(tags, size) * (real * (d_value - d_next[:, ::-1]))[..., None]
            missing = tf.shape(chain.mask)[0] - tokens
            begin = tf.pad(tf.transpose(begin, [1, 0, 2]), [[0, missing], [0, 0], [0, 0]])
            flow = -chain.before_the_first() * d_first[:, None]  # [B, S]
            into, taken, ends = expected_counts(chain, suffixes, scales, flow, begin)
            d_emissions = tf.transpose(into, [1, 0, 2])[:, :tokens, :-1]
            d_emissions += tf.one_hot(tags, size - 1) * d_value[..., None]
            pairs = tf.stack([before, tags], -1)
            taken = tf.tensor_scatter_nd_add(taken, pairs, d_value)
            gradients = d_emissions, taken[:-1, :-1], taken[-1, :-1], ends[:-1]
            return [_only_once(d) for d in gradients]

        return tf.where(mask, value, 0.0), gradient

    return run(emissions, transitions, start, end)


def expected_counts(chain, suffixes, scales, flow, injections=None):
    """Computes how often random walks through the chains are expected to use each tag and step.

    At position `t`, a walk moves from state `i` to tag `j` with probability `p_t(j | i)`. The
    flow is the expected number of walks in each state:

        p_t(j | i) = exp(steps[i, j] + scores_t[j] + suffix_{t+1}[j] - scale_t - suffix_t[i])
        flow_t[j]  = sum_i flow_{t-1}[i] * p_t(j | i) + injections_t[j]

    With a flow of 1 from the state before the first tag, the flow into each tag is its marginal,
    which is the gradient of the log normalizer. All values are probabilities, so underflow below
    1e-38 is negligible. Dividing the probabilities of the steps by their sum, which differs
    from 1 only by rounding, conserves the flow over many steps.

    The suffixes `[T + 1, B, S]` and scales `[T, B, 1]` are those of `suffix_scores`, `flow`
    `[B, S]` is that before the first position, and `injections` are `[T, B, S]`. Returns the flow
    into each tag `[T, B, S]`, without injections and 0 where masked; the flow through each step
    `[S, S]`; and the flow after the last position `[S]`.
    """

    def step(state, scores, mask, scale, before, after, *injected):
        flow, steps = state
        into = chain.steps + (scores + after - scale)[:, None, :] - before[:, :, None]
        chances = tf.exp(tf.minimum(into, 0.0))  # [B, from, to]
        leaving = tf.where(mask, flow, 0.0) / tf.maximum(tf.reduce_sum(chances, 2), TINY)
        taken = chances * leaving[:, :, None]  # [B, from, to]
        arrived = tf.reduce_sum(taken, 1)  # [B, to]
        onward = arrived + injected[0] if injected else arrived
        state = tf.where(mask, onward, flow), steps + tf.reduce_sum(taken, 0)
        return state, (arrived,)

    inputs = [chain.scores, chain.mask, scales, suffixes[:-1], suffixes[1:]]
    inputs += [] if injections is None else [injections]
    state = flow, tf.zeros_like(chain.steps)
    row = tf.TensorSpec([None, chain.num_states])
    (flow, steps), (arrived,) = recur(step, state, inputs, [row])
    return arrived, steps, tf.reduce_sum(flow, 0)


def _in_log_space(chain):
    suffixes, scales, total = suffix_scores(chain, log_sum_exp)
    return total, suffixes, scales


def _nothing(chain, value):
    """Returns `value` and zeros with the shapes of the suffixes and scales of `_in_log_space`."""
    suffixes = tf.zeros_like(tf.pad(chain.scores, [[0, 1], [0, 0], [0, 0]]))
    return value, suffixes, tf.zeros(tf.shape(chain.mask))


def _forward_backward(chain):
    """Computes prefix and suffix sums in probability space, using one loop for both directions.

    Each sum is stored as a scale and a vector that sums to 1; the highest score is factored out of
    every step. The computation uses float64 and is exact if no path is lost to underflow. This
    holds if the factors of all possible scores are above exp(-WIDEST_STEP) and every nonzero sum is
    above SMALLEST: then each product is a normal number, and a sum of 0 means that no path is
    possible. `exact` of the result is True if this holds and `value`, the log normalizer `[B]`, is
    finite for all sentences.
    """
    highest = tf.reduce_max(chain.scores, -1, keepdims=True)  # [T, B, 1]
    highest_step = tf.reduce_max(chain.steps)
    highest_end = tf.reduce_max(chain.ends)
    factors = tf.cast(tf.exp(chain.scores - highest), "float64")  # [T, B, S]
    steps = tf.cast(tf.exp(chain.steps - highest_step), "float64")  # [S, S]
    ends = tf.cast(tf.exp(chain.ends - highest_end), "float64")  # [S]
    both_steps = tf.stack([steps, tf.transpose(steps)])  # [2, S, S]

    def step(state, ahead, back, ahead_mask, back_mask):
        (sums,) = state  # [2, B, S]: prefix and suffix sums
        z = tf.matmul(tf.stack([sums[0], sums[1] * back]), both_steps)
        z = tf.stack([z[0] * ahead, z[1]])
        masks = tf.stack([ahead_mask, back_mask])  # [2, B, 1]
        scales = tf.where(masks, tf.reduce_sum(z, -1, keepdims=True), 1.0)
        sums = tf.where(masks, z / scales, sums)
        return (sums,), (sums, scales[0])

    first = chain.before_the_first("float64")
    last = tf.broadcast_to(ends / tf.reduce_sum(ends), tf.shape(first))
    inputs = [factors, tf.reverse(factors, [0]), chain.mask, tf.reverse(chain.mask, [0])]
    specs = [
        tf.TensorSpec([2, None, chain.num_states], "float64"),
        tf.TensorSpec([None, 1], "float64"),
    ]
    _, (sums, scales) = recur(step, (tf.stack([first, last]),), inputs, specs)
    prefixes = tf.concat([first[None], sums[:, 0]], 0)  # [T + 1, B, S]
    suffixes = tf.concat([tf.reverse(sums[:, 1], [0]), last[None]], 0)  # [T + 1, B, S]
    real = tf.cast(chain.mask[..., 0], "float32")  # [T, B]
    value = tf.reduce_sum(tf.math.log(scales[..., 0]), 0)
    value += tf.math.log(tf.reduce_sum(prefixes[-1] * ends, -1))
    value = tf.cast(value, "float32") + tf.reduce_sum((highest[..., 0] + highest_step) * real, 0)
    value = tf.where(tf.reduce_any(chain.mask[..., 0], 0), value + highest_end, 0.0)
    smallest = tf.reduce_min(tf.where(sums > 0.0, sums, 1.0))
    widest = tf.maximum(
        _width(chain.scores), tf.maximum(_width(chain.steps, [0, 1]), _width(chain.ends))
    )
    exact = (smallest > SMALLEST) & (widest < WIDEST_STEP)
    exact &= tf.reduce_all(tf.math.is_finite(value))
    return {
        "value": value,
        "exact": exact,
        "prefixes": prefixes,
        "suffixes": suffixes,
        "scales": scales,
        "factors": factors,
        "steps": steps,
        "ends": ends,
    }


def _fast_gradient(chain, fast, d_value):
    """Computes the gradients of the log normalizer with respect to scores, steps and ends."""
    before = fast["prefixes"][:-1]
    after = fast["prefixes"][1:]
    d_value = tf.cast(d_value, "float64")[None, :, None]  # [1, B, 1]
    weight = tf.cast(chain.mask, "float64") * d_value  # [T, B, 1]
    joint = after * fast["suffixes"][1:]  # [T, B, S]
    total = tf.reduce_sum(joint, -1, keepdims=True)
    d_scores = joint / total * weight
    onward = fast["factors"] * fast["suffixes"][1:] * (weight / (total * fast["scales"]))
    size = chain.num_states
    pairs = tf.matmul(tf.reshape(before, [-1, size]), tf.reshape(onward, [-1, size]), True)
    d_ends = fast["prefixes"][-1] * fast["ends"]  # [B, S]
    d_ends = d_ends / tf.reduce_sum(d_ends, -1, keepdims=True) * d_value[0]
    gradients = d_scores, fast["steps"] * pairs, tf.reduce_sum(d_ends, 0)
    return tuple(tf.cast(d, "float32") for d in gradients)


def _width(scores, axis=-1):
    """Returns the largest difference between possible scores along `axis`, as a scalar."""
    possible = is_possible(scores)
    highest = tf.reduce_max(scores, axis, keepdims=True)
    return tf.reduce_max(highest - tf.where(possible, scores, highest))


def _only_once(gradient):
    return tf.raw_ops.PreventGradient(
        input=gradient, message="The log normalizer of a chain has no second derivative."
    )
