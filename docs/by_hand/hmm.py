"""Hidden Markov model in plain NumPy, with Rabiner's names: hmm.md explains each function.

T is the number of tokens of a sentence, K the number of tags and V the number of different tokens.
The arguments of most functions are the tokens x_1 .. x_T of a sentence, as numbers from 0 to V - 1,
and the probabilities pi [K] of the first tag, A [K, K] (from, to) of a tag after another, B [K, V]
of a token under a tag, and end [K] of the end of the sentence after a tag.
"""

import itertools

import numpy as np


def count(sentences, tagged, num_tokens, num_tags):
    """Returns the counts of first tags, transitions, emissions and last tags."""
    initial, last = np.zeros(num_tags), np.zeros(num_tags)  # [K]
    transitions = np.zeros([num_tags, num_tags])  # [K, K]
    emissions = np.zeros([num_tags, num_tokens])  # [K, V]
    for tokens, tags in zip(sentences, tagged, strict=True):
        for t, (token, tag) in enumerate(zip(tokens, tags, strict=True)):
            emissions[tag, token] += 1
            if t == 0:
                initial[tag] += 1
            else:
                transitions[tags[t - 1], tag] += 1
            if t == len(tags) - 1:
                last[tag] += 1
    return initial, transitions, emissions, last


def add_k(counts, k):
    """p[i, j] = (counts[i, j] + k) / sum_j (counts[i, j] + k), for each row of a table."""
    return (counts + k) / (counts + k).sum(axis=-1, keepdims=True)


def joint(tags, tokens, pi, A, B, end):
    """p(x, y) = pi[y_1] B[y_1, x_1] prod_{t>1} A[y_{t-1}, y_t] B[y_t, x_t] end[y_T]."""
    p = pi[tags[0]] * end[tags[-1]]
    for tag, token in zip(tags, tokens, strict=True):
        p *= B[tag, token]
    for before, tag in itertools.pairwise(tags):
        p *= A[before, tag]
    return p


def all_joints(tokens, pi, A, B, end):
    """Returns a dict from each of the K ** T sequences of tags y to p(x, y)."""
    sequences = itertools.product(range(len(pi)), repeat=len(tokens))
    return {tags: joint(tags, tokens, pi, A, B, end) for tags in sequences}


def log(p):
    """Natural logarithm, which is -inf for 0, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def viterbi(tokens, pi, A, B, end):
    """Returns the tags with the highest p(x, y), and log p(x, y)."""
    log_A, log_B, length = log(A), log(B), len(tokens)
    delta = np.zeros([length, len(pi)])  # [T, K], log p of the best beginning that ends in tag j
    psi = np.zeros([length, len(pi)], int)  # [T, K], the tag before j in this beginning
    delta[0] = log(pi) + log_B[:, tokens[0]]
    for t in range(1, length):
        for j in range(len(pi)):
            scores = delta[t - 1] + log_A[:, j]  # [K]
            psi[t, j] = scores.argmax()
            delta[t, j] = scores.max() + log_B[j, tokens[t]]
    tags = [int((delta[-1] + log(end)).argmax())]
    for t in reversed(range(1, length)):
        tags.insert(0, int(psi[t, tags[0]]))
    return tags, (delta[-1] + log(end)).max()


def forward(tokens, pi, A, B, end):
    """alpha[t, j] = log p(x_1 .. x_t, y_t = j)."""
    log_A, log_B = log(A), log(B)
    alpha = np.zeros([len(tokens), len(pi)])  # [T, K]
    alpha[0] = log(pi) + log_B[:, tokens[0]]
    for t in range(1, len(tokens)):
        for j in range(len(pi)):
            alpha[t, j] = np.logaddexp.reduce(alpha[t - 1] + log_A[:, j]) + log_B[j, tokens[t]]
    return alpha


def log_likelihood(tokens, pi, A, B, end):
    """log p(x) = log sum_j exp(alpha[T, j]) end[j]."""
    return np.logaddexp.reduce(forward(tokens, pi, A, B, end)[-1] + log(end))


def backward(tokens, pi, A, B, end):
    """beta[t, i] = log p(x_{t+1} .. x_T, end | y_t = i)."""
    log_A, log_B = log(A), log(B)
    beta = np.zeros([len(tokens), len(pi)])  # [T, K]
    beta[-1] = log(end)
    for t in reversed(range(len(tokens) - 1)):
        for i in range(len(pi)):
            beta[t, i] = np.logaddexp.reduce(log_A[i] + log_B[:, tokens[t + 1]] + beta[t + 1])
    return beta


def posteriors(*model):
    """p(y_t = j | x) = exp(alpha[t, j] + beta[t, j] - log p(x))."""
    return np.exp(forward(*model) + backward(*model) - log_likelihood(*model))  # [T, K]


def tags_of(words):
    """Returns the letters B, M, E and S (begin, middle, end, single) of the characters of words."""
    return "".join("S" if len(word) == 1 else f"B{'M' * (len(word) - 2)}E" for word in words)


def words_of(text, letters):
    """Cuts a text after each character with the letter E or S."""
    words = [""]
    for character, letter in zip(text, letters, strict=True):
        words[-1] += character
        if letter in "ES":
            words.append("")
    return [word for word in words if word]
