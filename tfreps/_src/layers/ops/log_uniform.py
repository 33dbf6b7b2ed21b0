"""Distinct log-uniform (Zipf) samples that depend only on a seed."""

import numpy as np
import tensorflow as tf

# A block is the number of ids that are drawn at once. It exceeds the expected number of tries by
# this many standard deviations.
DEVIATIONS = 8.0


class LogUniformSampler:
    """Sampler of distinct ids in `[0, range_max)` that draws small ids more often.

        p(i) = log((i + 2) / (i + 1)) / log(range_max + 1)

    The distribution is that of TensorFlow's log-uniform candidate sampler with `unique=True`.
    That sampler has a hidden state; here equal seeds give equal draws, so that a training run can
    be interrupted and resumed. The expected count of an id is

        q(i) = 1 - (1 - p(i)) ** tries

    where `tries` is the number of draws that were needed to find `num_sampled` distinct ids.

    Reference: TensorFlow, `tf.random.log_uniform_candidate_sampler`; Jean et al., 2014, "On
    Using Very Large Target Vocabulary for Neural Machine Translation".

    Example:
    >>> sampler = LogUniformSampler(num_sampled=3, range_max=10)
    >>> ids, tries = sampler.draw([1, 2])
    >>> len(set(ids.numpy().tolist())), bool(tries >= 3)
    (3, True)
    """

    def __init__(self, num_sampled, range_max):
        if not 0 < num_sampled < range_max:
            raise ValueError(
                "`num_sampled` must be at least 1 and smaller than the vocabulary; got "
                f"{num_sampled} for a vocabulary of {range_max} tokens. Choose a number in this "
                "range, or use the full softmax with `num_sampled=None`."
            )
        self.num_sampled = num_sampled
        self.range_max = range_max
        self.block = _block_size(num_sampled, range_max)

    def draw(self, seed):
        """Draws distinct ids that depend only on `seed`, int `[2]`.

        Returns the ids, int64 `[num_sampled]`, and the number of draws that were needed, including
        repeated ids, an int64 scalar.
        """
        seed = tf.cast(seed, "int64")

        def more(draws, distinct, number):
            fresh = self._block(tf.random.experimental.stateless_fold_in(seed, number))
            draws = tf.concat([draws, fresh], 0)
            return draws, tf.unique(draws).y, number + 1

        # One block is almost always enough.
        none = tf.zeros([0], "int64")
        draws, _, _ = tf.while_loop(
            lambda draws, distinct, number: tf.size(distinct) < self.num_sampled,
            more,
            (none, none, tf.constant(0, "int64")),
            shape_invariants=(tf.TensorShape([None]), tf.TensorShape([None]), tf.TensorShape([])),
        )
        distinct, which = tf.unique(draws)
        # Index of the first draw of the last id.
        last = tf.argmax(tf.equal(which, self.num_sampled - 1))
        return tf.ensure_shape(distinct[: self.num_sampled], [self.num_sampled]), last + 1

    def log_expected_count(self, ids, tries):
        """Computes `log q(i)` as a float32 tensor with the shape of `ids`."""
        ids = tf.cast(ids, "float64")
        probability = tf.math.log((ids + 2.0) / (ids + 1.0)) / np.log(self.range_max + 1.0)
        tries = tf.cast(tries, "float64")
        expected = -tf.math.expm1(tries * tf.math.log1p(-probability))
        return tf.cast(tf.math.log(expected), "float32")

    def _block(self, seed):
        uniform = tf.random.stateless_uniform([self.block], seed, dtype="float64")
        ids = tf.cast(tf.exp(uniform * np.log(self.range_max + 1.0)), "int64") - 1
        return tf.minimum(ids, self.range_max - 1)


def _block_size(num_sampled, range_max):
    """Returns a number of random ids that almost always contain `num_sampled` distinct ids."""
    ids = np.arange(range_max, dtype=np.float64)
    probability = np.log((ids + 2.0) / (ids + 1.0)) / np.log(range_max + 1.0)
    low = float(num_sampled)
    high = 1e9
    for _ in range(60):
        tries = (low + high) / 2
        expected = -np.expm1(tries * np.log1p(-probability))
        low, high = (tries, high) if expected.sum() < num_sampled else (low, tries)
    deviation = np.sqrt((expected * (1.0 - expected)).sum())
    # Expected number of new distinct ids per additional try.
    slope = (probability * (1.0 - expected)).sum()
    return int(tries + DEVIATIONS * deviation / slope) + 1
