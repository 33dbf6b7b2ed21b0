"""Linear-chain CRF of one sentence, in plain NumPy: docs/by_hand/crf.md explains each function.

T is the number of tokens and K the number of tags. The arguments of most functions are the scores
of a sentence: emissions [T, K], transitions [K, K] (from, to), start [K] and end [K].
"""

import itertools

import numpy as np


def score(path, emissions, transitions, start, end):
    """start[y_1] + sum_t emissions[t, y_t] + sum_t transitions[y_{t-1}, y_t] + end[y_T]."""
    if len(path) == 0:
        return 0.0
    total = start[path[0]] + end[path[-1]] + sum(emissions[t, tag] for t, tag in enumerate(path))
    return total + sum(transitions[before, tag] for before, tag in itertools.pairwise(path))


def all_scores(emissions, transitions, start, end):
    """Returns a dict from each of the K ** T paths to its score."""
    paths = itertools.product(range(len(start)), repeat=len(emissions))
    return {path: score(path, emissions, transitions, start, end) for path in paths}


def log_sum_exp(scores):
    """log sum_i exp(scores[i])."""
    return np.logaddexp.reduce(list(scores))


def forward(emissions, transitions, start, end):
    """alpha[t, j] = log sum of exp(score) of the beginnings y_1 .. y_t with y_t = j."""
    alpha = np.zeros(emissions.shape)  # [T, K]
    alpha[0] = start + emissions[0]
    for t in range(1, len(emissions)):
        for j in range(len(start)):
            alpha[t, j] = log_sum_exp(alpha[t - 1] + transitions[:, j]) + emissions[t, j]
    return alpha


def log_normalizer(emissions, transitions, start, end):
    """log Z = log sum_j exp(alpha[T, j] + end[j])."""
    return log_sum_exp(forward(emissions, transitions, start, end)[-1] + end)


def backward(emissions, transitions, start, end):
    """beta[t, i] = log sum of exp(score) of the continuations y_{t+1} .. y_T after y_t = i."""
    beta = np.zeros(emissions.shape)  # [T, K]
    beta[-1] = end
    for t in reversed(range(len(emissions) - 1)):
        for i in range(len(end)):
            beta[t, i] = log_sum_exp(transitions[i] + emissions[t + 1] + beta[t + 1])
    return beta


def marginals(*scores):
    """p(y_t = j) = exp(alpha[t, j] + beta[t, j] - log Z)."""
    return np.exp(forward(*scores) + backward(*scores) - log_normalizer(*scores))  # [T, K]


def gradient(path, emissions, transitions, start, end):
    """d log p(path) / d score = uses of the score in the path - expected uses in a random path."""
    scores = emissions, transitions, start, end
    alpha, beta, log_z = forward(*scores), backward(*scores), log_normalizer(*scores)
    d_emissions = np.eye(len(start))[list(path)] - marginals(*scores)  # [T, K]
    d_transitions = np.zeros(transitions.shape)  # [K, K]
    for t in range(1, len(path)):
        d_transitions[path[t - 1], path[t]] += 1
        for i, j in np.ndindex(transitions.shape):
            step = transitions[i, j] + emissions[t, j]
            d_transitions[i, j] -= np.exp(alpha[t - 1, i] + step + beta[t, j] - log_z)
    return d_emissions, d_transitions, d_emissions[0], d_emissions[-1]


def slopes(function, array, step=1e-5):
    """(function(x + step) - function(x - step)) / (2 step), for each element x of an array."""
    result = np.zeros(array.shape)
    for index in np.ndindex(array.shape):
        change = np.zeros(array.shape)
        change[index] = step
        result[index] = (function(array + change) - function(array - change)) / (2 * step)
    return result


def viterbi(emissions, transitions, start, end):
    """Returns the path with the highest score, and this score."""
    delta = np.zeros(emissions.shape)  # [T, K], the best score of the beginnings with y_t = j
    psi = np.zeros(emissions.shape, int)  # [T, K], the tag before j in the best beginning
    delta[0] = start + emissions[0]
    for t in range(1, len(emissions)):
        for j in range(len(start)):
            scores = delta[t - 1] + transitions[:, j]  # [K]
            psi[t, j] = scores.argmax()
            delta[t, j] = scores.max() + emissions[t, j]
    path = [int((delta[-1] + end).argmax())]
    for t in reversed(range(1, len(emissions))):
        path.insert(0, int(psi[t, path[0]]))
    return tuple(path), (delta[-1] + end).max()


def k_best(emissions, transitions, start, end, k):
    """Returns the k paths with the highest scores, as pairs (score, path)."""
    best = [[(value, (j,))] for j, value in enumerate(start + emissions[0])]  # for each last tag
    for t in range(1, len(emissions)):
        longer = [[] for _ in start]
        for i, j in np.ndindex(transitions.shape):
            for value, path in best[i]:
                longer[j].append((value + transitions[i, j] + emissions[t, j], (*path, j)))
        best = [sorted(pairs, reverse=True)[:k] for pairs in longer]
    ended = [(value + end[path[-1]], path) for pairs in best for value, path in pairs]
    return sorted(ended, reverse=True)[:k]


def constrained(allowed, transitions, start, end):
    """Sets the scores of forbidden steps to -inf.

    `allowed` is a boolean matrix [K + 2, K + 2] (from, to): index K is the start of the sentence,
    and index K + 1 is its end.
    """
    num_tags = len(start)
    transitions = np.where(allowed[:num_tags, :num_tags], transitions, -np.inf)  # [K, K]
    start = np.where(allowed[num_tags, :num_tags], start, -np.inf)  # [K]
    end = np.where(allowed[:num_tags, num_tags + 1], end, -np.inf)  # [K]
    return transitions, start, end
