"""Losses of a language model: the full softmax, the sampled softmax, and perplexity."""

import math

import numpy as np


def log_sum_exp(z):
    """log(sum over v of exp(z[v]))."""
    return max(z) + math.log(sum(math.exp(z_v - max(z)) for z_v in z))


def full_softmax_loss(x, W, b, target):
    """-log softmax(z)[target] with z[v] = x . W[v] + b[v], for all tokens v."""
    z = [x @ W[v] + b[v] for v in range(len(W))]  # [V]
    return log_sum_exp(z) - z[target]


def log_uniform(v, size):
    """p(v) = log((v + 2) / (v + 1)) / log(size + 1)."""
    return math.log((v + 2) / (v + 1)) / math.log(size + 1)


def draw_negatives(uniform, num_sampled, size):
    """Draws from p until `num_sampled` ids are distinct; returns them and the number of tries.

    `uniform` is an iterator of random numbers in [0, 1).
    """
    negatives, tries = [], 0
    while len(negatives) < num_sampled:
        v = int(np.exp(next(uniform) * np.log(size + 1))) - 1
        tries += 1
        if v not in negatives:
            negatives.append(v)
    return negatives, tries


def expected_count(v, size, tries):
    """q(v) = 1 - (1 - p(v)) ** tries, the probability that v is among the negatives."""
    return 1.0 - (1.0 - log_uniform(v, size)) ** tries


def sampled_softmax_loss(x, W, b, target, negatives, tries):
    """-log softmax(z')[target] with z'[v] = z[v] - log q(v), for the target and the negatives."""
    candidates = [target, *(v for v in negatives if v != target)]
    q = [expected_count(v, len(W), tries) for v in candidates]
    z = [x @ W[v] + b[v] - math.log(q_v) for v, q_v in zip(candidates, q, strict=True)]
    return log_sum_exp(z) - z[0]


def perplexity(losses):
    """exp(mean of the losses)."""
    return math.exp(sum(losses) / len(losses))
