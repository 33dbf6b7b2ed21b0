"""Best paths through linear chains: Viterbi and k best."""

import tensorflow as tf

from tfreps.layers.chain_recursion import recur, suffix_scores


def best_path(chain):
    """The best path of every chain, walked from the front along the best suffix scores.

    Returns:
        Tags int32 `[T, B]` (without meaning where masked) and score float32 `[B]`.
    """
    suffixes = suffix_scores(chain, tf.reduce_max)

    def step(state, onward, mask):
        (tag,) = state  # [B]
        chosen = tf.argmax(tf.gather(chain.steps, tag) + onward, -1, output_type=tf.int32)
        tag = tf.where(mask[:, 0], chosen, tag)
        return (tag,), (tag,)

    first = tf.fill([tf.shape(chain.scores)[1]], chain.num_states - 1)
    inputs = [chain.scores + suffixes[1:], chain.mask]
    _, (tags,) = recur(step, (first,), inputs, [tf.TensorSpec([None], "int32")])
    return tags, suffixes[0, :, -1]
