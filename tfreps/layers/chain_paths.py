"""Best paths through linear chains: Viterbi and k best."""

import tensorflow as tf

from tfreps.layers.chain_recursion import FORBIDDEN, recur, suffix_scores


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
    batch, states = tf.shape(chain.scores)[1], chain.num_states

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
        tag, way = tf.where(mask, choice // k, tag), tf.where(mask, choice % k, way)
        return (tag, way), (tag,)

    first = tf.fill([batch, k], states - 1), tf.broadcast_to(tf.range(k), [batch, k])
    _, (tags,) = recur(ahead, first, [choices, chain.mask], [tf.TensorSpec([None, k], "int32")])
    return tags, suffix[:, -1]
