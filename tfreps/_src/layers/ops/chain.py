"""Linear chains: path scores, log normalizer, marginals and best paths.

A chain assigns to each tag sequence `y_1 .. y_n` of a sentence with `n` real tokens the score

    score(y) = start[y_1] + sum_t emissions[t, y_t]
               + sum_{t > 1} transitions[y_{t-1}, y_t] + end[y_n]

and the probability `exp(score(y)) / Z`, where `Z` is the sum of `exp(score)` over all sequences.
A sentence without tokens has one sequence, the empty one, with score 0. A path is a tag sequence,
and a step leads from one of its tags to the next.

The functions share these arguments and raise a ValueError if one of them has the wrong shape:

    emissions: float, shape `[B, T, K]`. Score of each tag at each position, in nats. `K` is at
        least 1, `T` at least 0.
    mask: bool, shape `[B, T]`. True on real tokens. If `None`, all tokens are real. Masked
        positions may be anywhere and are skipped: two real tokens are neighbors if there is no
        real token between them. Values at masked positions, including NaN, are ignored.
    transitions: float, shape `[K, K]`, [from, to]. Transition scores.
    start: float, shape `[K]`. Score of each tag as the first tag.
    end: float, shape `[K]`. Score of each tag as the last tag.

The computation uses float32 or better. A score of `-inf`, or any score below -1e30, forbids a tag
or a step. The absolute values of other scores should be below 1e20. A NaN or `+inf` at a real
token affects only the results of its sentence: the log normalizer, the marginals and the scores of
the best paths are then NaN, and the tags of these paths are arbitrary.
"""

import tensorflow as tf

from tfreps._src.files.argument_checks import check_integers
from tfreps._src.layers.ops import chain_gradient, chain_recursion
from tfreps._src.layers.ops.chain_recursion import Chain, is_possible, previous_values
from tfreps._src.layers.ops.masks import check_shape, full_mask


def path_score(emissions, tags, mask, transitions, start, end):
    """Computes the score of the given path of each sentence, float32 `[B]`, differentiable.

    `tags` are int `[B, T]` and ignored where masked. The score is `-inf` for a path that contains a
    score of `-inf`, and NaN if a tag at a real token is outside 0 to K - 1.

    >>> zeros, mask = tf.zeros([1, 3, 2]), tf.constant([[True, False, True]])
    >>> path_score(zeros, [[0, 0, 1]], mask, [[1., 2.], [4., 8.]], [16., 0.], [0., 32.]).numpy()
    array([50.], dtype=float32)
    """
    emissions, mask, transitions, start, end = _checked(emissions, mask, transitions, start, end)
    num_tags = emissions.shape[-1]
    tags = checked_tags(tags, emissions)
    valid = tf.reduce_all(~mask | ((tags >= 0) & (tags < num_tags)), -1)  # [B]
    tags = tf.where(mask, tf.clip_by_value(tags, 0, num_tags - 1), 0)
    chosen = tf.one_hot(tags, num_tags, on_value=True, off_value=False) & mask[..., None]
    on_tokens = tf.where(chosen, emissions, 0.0)  # [B, T, K]
    previous, last = previous_values(tags, mask, num_tags)
    steps = tf.gather_nd(tf.concat([transitions, start[None]], 0), tf.stack([previous, tags], -1))
    score = tf.reduce_sum(on_tokens, [1, 2]) + tf.reduce_sum(tf.where(mask, steps, 0.0), 1)
    score += tf.gather(tf.concat([end, [0.0]], 0), last)
    return tf.where(valid, score, float("nan"))


def expected_score(emissions, targets, mask, transitions, start, end):
    """Computes the expected score of a path whose tags are drawn independently, float32 `[B]`.

    `targets`, float32 `[B, T, K]`, contain the probability of each tag at each token, and are
    ignored where masked. The scores must be finite. The result is differentiable, but not with
    respect to `targets`, and equals `path_score` if each probability is 0 or 1.

    >>> zeros, mask = tf.zeros([1, 2, 2]), tf.constant([[True, True]])
    >>> targets = tf.constant([[[1., 0.], [.5, .5]]])
    >>> expected_score(zeros, targets, mask, [[1., 2.], [4., 8.]], [16., 0.], [0., 32.]).numpy()
    array([33.5], dtype=float32)
    """
    emissions, mask, transitions, start, end = _checked(emissions, mask, transitions, start, end)
    length, size = tf.shape(mask)[1], emissions.shape[-1]
    targets = tf.stop_gradient(tf.where(mask[..., None], targets, 0.0))  # [B, T, K]
    on_tokens = targets * tf.where(mask[..., None], emissions, 0.0)
    positions = tf.broadcast_to(tf.range(length), tf.shape(mask))
    previous, last = previous_values(positions, mask, length)  # [B, T], [B]
    states = tf.pad(targets, [[0, 0], [0, 1], [0, 1]])  # [B, T + 1, K + 1]
    first = tf.one_hot(length, length + 1)[:, None] * tf.one_hot(size, size + 1)
    before = tf.gather(states + first, previous, batch_dims=1)  # [B, T, K + 1]
    steps = tf.concat([transitions, start[None]], 0)  # [K + 1, K]
    into = tf.matmul(tf.reshape(before, [-1, size + 1]), steps)
    score = tf.reduce_sum(on_tokens + tf.reshape(into, tf.shape(targets)) * targets, [1, 2])
    return score + tf.linalg.matvec(tf.gather(states, last, batch_dims=1)[:, :-1], end)


def log_normalizer(emissions, mask, transitions, start, end):
    """Computes `log Z`, the logarithm of the sum of `exp(score)` over all paths, float32 `[B]`.

    The gradient is computed with the forward-backward algorithm. It is exact for any range of
    scores, and takes memory proportional to `T * K` for a sentence. The gradient with respect to
    the emissions consists of the marginals. With respect to any other score, it is the expected
    number of times that a path uses the score. A second derivative raises a LookupError. A sentence
    without a possible path has the value `-inf` and a gradient of 0.

    Reference: Lafferty, McCallum and Pereira, 2001, "Conditional Random Fields".
    """
    return chain_gradient.log_sum_over_paths(*_checked(emissions, mask, transitions, start, end))


def marginals(emissions, mask, transitions, start, end):
    """Computes the probability of each tag at each token (forward-backward), float32 `[B, T, K]`.

    The probability is 0 where masked and for sentences without a possible path.
    """
    emissions, *rest = _checked(emissions, mask, transitions, start, end)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(emissions)
        total = chain_gradient.log_sum_over_paths(emissions, *rest)
    return tape.gradient(total, emissions)


def token_log_probabilities(emissions, tags, mask, transitions, start, end):
    """Computes the log probability of each tag of a path, given the tags before it, `[B, T]`.

        log p(y_t | y_1 .. y_{t-1}); the sum over t is score(y) - log Z

    The computation is done in log space and takes several times as long as `log_normalizer`. The
    result can be differentiated only once. `tags` are int `[B, T]`, 0 to K - 1 at real tokens. The
    result is at most 0, and 0 where masked. It is -1e30 at a token if the sentence has no possible
    path, if the step to the token is impossible, or if no path can be completed from the previous
    tag or from the tag of the token.
    """
    emissions, *rest = _checked(emissions, mask, transitions, start, end)
    tags = checked_tags(tags, emissions)
    return chain_gradient.token_log_probabilities(tags, emissions, *rest)


def at_temperature(emissions, mask, transitions, start, end, temperature):
    """Returns the first five arguments, with all scores divided by the temperature.

    The probabilities of the paths are then proportional to `exp(score / temperature)`.
    """
    if temperature == 1.0:
        return emissions, mask, transitions, start, end
    parts = (score / temperature for score in (transitions, start, end))
    return emissions / temperature, mask, *parts


def viterbi(emissions, mask, transitions, start, end):
    """Returns the best path of each sentence: `(tags, score)`, int32 `[B, T]` and float32 `[B]`.

    The tags are 0 where masked. The score has the gradient of `path_score` for these tags. If no
    path is possible, the score is `-inf` and the tags are meaningless.

    Reference: Viterbi, 1967, "Error Bounds for Convolutional Codes and an Asymptotically
    Optimum Decoding Algorithm".
    """
    emissions, mask, *scores = _checked(emissions, mask, transitions, start, end)
    finite, chain = _to_decode(*(tf.stop_gradient(x) for x in (emissions, mask, *scores)))
    tags, best = chain_recursion.best_path(chain)
    tags = chain.by_token(tags)
    score = _score_along(tags, best, emissions, mask, scores)
    score = tf.where(is_possible(best), score, float("-inf"))
    return tags, tf.where(finite, score, float("nan"))


def k_best(emissions, mask, transitions, start, end, k):
    """Returns each sentence's `k` best paths: `(tags, scores)`, int32 `[B, k, T]` and `[B, k]`.

    The best path comes first. The tags are 0 where masked, and the scores have no gradient. If a
    sentence has fewer than `k` possible paths, the remaining scores are `-inf` and their tags 0.
    """
    check_integers(1, k=k)
    emissions, mask, *scores = _checked(emissions, mask, transitions, start, end)
    finite, chain = _to_decode(*(tf.stop_gradient(x) for x in (emissions, mask, *scores)))
    tags, scores = chain_recursion.k_best_paths(chain, k)
    possible = is_possible(scores)  # [B, k]
    tags = tf.transpose(chain.by_token(tags), [0, 2, 1])  # [B, k, T]
    tags = tf.where(mask[:, None] & possible[..., None], tags, 0)
    scores = tf.where(possible, scores, float("-inf"))
    return tags, tf.where(finite[:, None], scores, float("nan"))


def _score_along(tags, score, emissions, mask, scores):
    """Returns `score`, the score of the path `tags`, with the gradient of `path_score`."""

    @tf.custom_gradient
    def known(emissions, *scores):
        def gradient(d_score):
            with tf.GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([emissions, *scores])
                again = path_score(emissions, tags, mask, *scores)
            return tape.gradient(again, [emissions, *scores], d_score)

        return tf.identity(score), gradient

    return known(emissions, *scores)


def _checked(emissions, mask, transitions, start, end):
    emissions = tf.cast(emissions, "float32")
    check_shape("emissions", emissions, [None, None, None], "[B, T, K]")
    scores = [tf.cast(x, "float32") for x in (transitions, start, end)]
    size = emissions.shape[-1]
    check_shape("transitions", scores[0], [size, size], "[K, K]")
    for name, x in ("start", scores[1]), ("end", scores[2]):
        check_shape(name, x, [size], "[K]")
    return emissions, full_mask(mask, emissions), *scores


def checked_tags(tags, emissions):
    """Returns the tags as int32 after checking that their shape is `[B, T]`."""
    tags = tf.cast(tags, "int32")
    check_shape("tags", tags, emissions.shape[:2], "[B, T]")
    return tags


def _to_decode(emissions, mask, *scores):
    """Returns which sentences can be decoded, bool `[B]`, and the `Chain` of all sentences.

    A sentence with a NaN or `+inf` at a real token cannot be decoded; its emissions in the chain
    are 0.
    """
    fine = tf.reduce_all(emissions < float("inf"), -1)  # [B, T]
    fine = tf.reduce_all(~mask | fine, -1)  # [B]
    emissions = tf.where(fine[:, None, None], emissions, 0.0)
    return fine, Chain.of(emissions, mask, *scores)
