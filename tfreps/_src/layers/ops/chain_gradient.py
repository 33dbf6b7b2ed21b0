"""Sums over the paths of linear chains, and their gradients (forward-backward)."""

import tensorflow as tf

from tfreps._src.layers.ops.chain_recursion import (
    FORBIDDEN,
    Chain,
    is_possible,
    previous_values,
    suffix_scores,
)
from tfreps._src.layers.ops.portable import is_portable
from tfreps._src.layers.ops.position_loop import recur

# Largest difference between the scores of a step for which probability space is used: exp(-80) is
# a normal float32.
WIDEST_STEP = 80.0
# Smallest sum in probability space: multiplied by exp(-160), it is still a normal float64.
SMALLEST = 1e-200
TINY = 1e-30


def log_sum_over_paths(emissions, mask, transitions, start, end):
    """Computes `log Z`, float32 `[B]`, with the gradient that `chain.log_normalizer` describes."""

    @tf.custom_gradient
    def run(emissions, transitions, start, end):
        chain = Chain.of(emissions, mask, transitions, start, end)
        fast = None if is_portable() else forward_backward(chain)
        value, *suffixes = if_exact(
            fast, lambda: _nothing(chain, fast["value"]), lambda: _in_log_space(chain)
        )

        def in_log_space(d_value):
            return expected_counts(chain, *suffixes, chain.before_the_first() * d_value[:, None])

        def gradient(d_value):
            d_value = tf.where(is_possible(value) | (value != value), d_value, 0.0)
            d_scores, d_steps, d_ends = if_exact(
                fast,
                lambda: _fast_gradient(chain, fast, d_value),
                lambda: in_log_space(d_value),
            )
            d_emissions = chain.by_token(d_scores)[..., :-1]
            gradients = d_emissions, d_steps[:-1, :-1], d_steps[-1, :-1], d_ends[:-1]
            return [_only_once(d) for d in gradients]

        return tf.where(is_possible(value), value, float("-inf") + 0.0 * value), gradient

    return run(emissions, transitions, start, end)


def token_log_probabilities(tags, emissions, mask, transitions, start, end):
    """Computes the log probability of each tag given the tags before it, `[B, T]`.

    `chain.token_log_probabilities` describes the arguments; `tags` must be int32. Each value is the
    score of one step and one token, plus the suffix score after the token, minus the suffix score
    before it. The gradient of a value is therefore 1 for the score of this step and of this token,
    plus the `expected_counts` of a walk that begins after the token, minus the `expected_counts` of
    a walk that begins before the token.
    """
    tags = tf.where(mask, tags, 0)

    @tf.custom_gradient
    def run(emissions, transitions, start, end):
        chain = Chain.of(emissions, mask, transitions, start, end)
        size = chain.num_states
        suffixes, scales, total = suffix_scores(chain)
        previous, _ = previous_values(tags, mask, size - 1)
        steps = tf.gather_nd(chain.steps, tf.stack([previous, tags], -1))  # [B, T]
        token = tf.gather(chain.by_token(chain.scores), tags, batch_dims=2)
        after = tf.gather(chain.by_token(suffixes[1:]), tags, batch_dims=2)
        before = tf.gather(chain.by_token(suffixes[:-1] + scales), previous, batch_dims=2)
        possible = is_possible(steps + token + after) & is_possible(before)
        possible &= is_possible(total)[:, None]
        value = tf.minimum(steps + token + after - before, 0.0)
        value = tf.where(possible, value, tf.where(value != value, value, FORBIDDEN))

        def gradient(d_value):
            d_value = tf.where(mask & possible, d_value, 0.0)  # [B, T]
            d_next, d_first = previous_values(d_value[:, ::-1], mask[:, ::-1], 0.0)
            begin = tf.one_hot(tags, size) * (d_value - d_next[:, ::-1])[..., None]  # [B, T, S]
            flow = -chain.before_the_first() * d_first[:, None]  # [B, S]
            begin = chain.by_position(begin, tf.zeros_like(chain.scores))
            into, taken, ends = expected_counts(chain, suffixes, scales, flow, begin)
            d_emissions = chain.by_token(into)[..., :-1]
            d_emissions += tf.one_hot(tags, size - 1) * d_value[..., None]
            pairs = tf.stack([previous, tags], -1)
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

    `suffixes` and `scales` are results of `suffix_scores`, `flow` is the flow before the first
    position, `[B, S]`, and `injections` is the number of walks that begin in each state at each
    position, `[P, B, S]`. Returns the flow into each tag `[P, B, S]`, without injections; the flow
    through each step `[S, S]`; and the flow after the last position `[S]`.
    """

    def step(state, scores, scale, before, after, *injected):
        flow, steps = state
        into = tf.expand_dims(scores + after - scale, 1) - tf.expand_dims(before, 2) + chain.steps
        chances = tf.exp(tf.minimum(into, 0.0))  # [B, from, to]
        leaving = flow / tf.maximum(tf.reduce_sum(chances, 2), TINY)
        taken = chances * tf.expand_dims(leaving, 2)  # [B, from, to]
        arrived = tf.reduce_sum(taken, 1)  # [B, to]
        onward = arrived + injected[0] if injected else arrived
        return (onward, steps + tf.reduce_sum(taken, 0)), (arrived,)

    inputs = [chain.scores, scales, suffixes[:-1], suffixes[1:]]
    inputs += [] if injections is None else [injections]
    state = flow, tf.zeros_like(chain.steps)
    row = tf.TensorSpec([None, chain.num_states])
    (flow, steps), (arrived,) = recur(step, state, inputs, [row])
    return arrived, steps, tf.reduce_sum(flow, 0)


def _in_log_space(chain):
    suffixes, scales, total = suffix_scores(chain)
    return total, suffixes, scales


def _nothing(chain, value):
    """Returns `value`, and zeros with the shapes of the suffixes and scales of `_in_log_space`.

    Both branches of a `tf.cond` must return the same number of tensors.
    """
    suffixes = tf.zeros_like(tf.pad(chain.scores, [[0, 1], [0, 0], [0, 0]]))
    return value, suffixes, tf.zeros_like(chain.scores[..., :1])


def if_exact(fast, result, otherwise):
    """Returns `result()` if `fast["exact"]` is True, and `otherwise()` if not.

    `fast` is a dict that `forward_backward` returned. In a portable graph, `fast` is `None`, and
    `otherwise` is called.
    """
    return otherwise() if fast is None else tf.cond(fast["exact"], result, otherwise)


def forward_backward(chain):
    """Computes prefix and suffix sums in probability space, using one loop for both directions.

        prefix_t[j] = sum_i prefix_{t-1}[i] factors_{t-1}[i] steps[i, j]
        suffix_t[i] = sum_j steps[i, j] factors_t[j] suffix_{t+1}[j]

    The highest score is factored out of every step, and the sums are divided by their total after
    each block. The computation uses float64 and is exact if no path is lost to underflow. This
    holds if the factors of all possible scores are above exp(-WIDEST_STEP) and every nonzero sum is
    above SMALLEST: then each product is a normal number, and a sum of 0 means that no path is
    possible.

    Returns:
        dict of tensors. `value`: the log normalizer, float32 `[B]`. `exact`: bool scalar, True if
        the condition above holds and `value` is finite for all sentences. `prefixes`, float64
        `[P, B, S]`: `prefix_t * factors_t`. `suffixes`, float64 `[P, B, S]`: `suffix_{t+1}`.
        `factors` `[P, B, S]`, `steps` `[S, S]` and `ends` `[S]`, float64: `exp(score - highest)` of
        the chain's scores, with one `highest` for each position and sentence in `factors`.
    """
    highest = tf.reduce_max(chain.scores, -1, keepdims=True)  # [P, B, 1]
    highest_step = tf.reduce_max(chain.steps)
    highest_end = tf.reduce_max(chain.ends)
    factors = tf.cast(tf.exp(chain.scores - highest), "float64")  # [P, B, S]
    steps = tf.cast(tf.exp(chain.steps - highest_step), "float64")  # [S, S]
    ends = tf.cast(tf.exp(chain.ends - highest_end), "float64")  # [S]
    both_steps = tf.stack([steps, tf.transpose(steps)])  # [2, S, S]

    def step(state, factors):
        sums, log_scale = state  # [2, B, S], [B, 1]
        return (tf.matmul(sums * factors, both_steps), log_scale), (sums,)

    def scaled(state):
        sums, log_scale = state
        total = tf.reduce_sum(sums, -1, keepdims=True)  # [2, B, 1]
        total = tf.where(total > 0.0, total, 1.0)
        return sums / total, log_scale + tf.math.log(total[1])

    ends_of_all = tf.broadcast_to(ends, tf.shape(factors)[1:])
    first = tf.stack([tf.broadcast_to(steps[-1], tf.shape(factors)[1:]), ends_of_all])
    state = first, tf.zeros_like(factors[0, :, :1])
    both_factors = tf.stack([factors, tf.reverse(factors, [0])], 1)  # [P, 2, B, S]
    spec = tf.TensorSpec([2, None, chain.num_states], "float64")
    (final, log_scale), (sums,) = recur(step, state, [both_factors], [spec], after_block=scaled)
    prefixes = sums[:, 0] * factors  # [P, B, S]
    suffixes = tf.reverse(sums[:, 1], [0])  # [P, B, S], sums over the paths after each position
    # The suffix that begins with the first tag covers the whole chain.
    value = log_scale[:, 0] + tf.math.log(final[1, :, -1])
    num_steps = tf.cast(tf.shape(factors)[0], "float64")
    value += tf.reduce_sum(tf.cast(highest[..., 0], "float64"), 0)
    value += num_steps * tf.cast(highest_step, "float64") + tf.cast(highest_end, "float64")
    without_tokens = is_possible(chain.scores[-1, :, -1])  # [B]
    value = tf.where(without_tokens, 0.0, tf.cast(value, "float32"))
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
        "factors": factors,
        "steps": steps,
        "ends": ends,
    }


def _fast_gradient(chain, fast, d_value):
    """Computes the gradients with respect to the scores, steps and ends of a chain.

    The gradient of the log normalizer is the expected number of times that a path uses a score. It
    is multiplied by `d_value`, the gradient with respect to the log normalizer, `[B]`. The sums in
    the dict `fast` of `forward_backward` have unknown scales, so the values of each position are
    divided by their total. The results are float32 `[P, B, S]`, `[S, S]` and `[S]`.
    """
    d_value = tf.cast(d_value, "float64")[:, None]  # [B, 1]
    first = chain.before_the_first("float64")
    before = tf.concat([first[None], fast["prefixes"][:-1]], 0)  # [P, B, S]
    onward = fast["factors"] * fast["suffixes"]  # [P, B, S]
    size = chain.num_states
    arrived = tf.reshape(tf.matmul(tf.reshape(before, [-1, size]), fast["steps"]), tf.shape(onward))
    d_scores = arrived * onward
    weight = d_value / tf.reduce_sum(d_scores, -1, keepdims=True)  # [P, B, 1]
    pairs = tf.matmul(
        tf.reshape(before, [-1, size]), tf.reshape(onward * weight, [-1, size]), transpose_a=True
    )
    d_ends = fast["prefixes"][-1] * fast["ends"]  # [B, S]
    d_ends = d_ends / tf.reduce_sum(d_ends, -1, keepdims=True) * d_value
    gradients = d_scores * weight, fast["steps"] * pairs, tf.reduce_sum(d_ends, 0)
    return tuple(tf.cast(d, "float32") for d in gradients)


def _width(scores, axis=-1):
    """Returns the largest difference between possible scores along `axis`, as a scalar."""
    possible = is_possible(scores)
    highest = tf.reduce_max(scores, axis, keepdims=True)
    return tf.reduce_max(highest - tf.where(possible, scores, highest))


def _only_once(gradient):
    if is_portable():
        return gradient
    return tf.raw_ops.PreventGradient(
        input=gradient, message="The log normalizer of a chain has no second derivative."
    )
