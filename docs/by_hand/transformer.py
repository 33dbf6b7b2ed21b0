"""Transformer in NumPy loops, one text at a time; transformer.md explains it."""

import math

import numpy as np

ACTIVATIONS = {
    "relu": lambda z: max(z, 0.0),
    "gelu": lambda z: z * 0.5 * (1 + math.erf(z / math.sqrt(2))),
    "gelu_tanh": lambda z: (
        0.5 * z * (1 + math.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z**3)))
    ),
}


def softmax(scores):
    """Computes exp(score) / sum of exp(scores)."""
    powers = np.exp(scores)
    return powers / powers.sum()


def attention(x, weights, num_heads, mask, causal=False):
    """Computes softmax(Q K^T / sqrt(d_k)) V in each head, then the heads side by side times W_O.

    Returns the outputs `[T, D]` and the probabilities `[H, T, T]`.
    """
    T, D = x.shape
    d_k = D // num_heads
    Q, K, V = (x @ weights[f"W_{name}"] + weights[f"b_{name}"] for name in "QKV")  # [T, D]
    y, probabilities = np.zeros([T, D]), np.zeros([num_heads, T, T])
    for i in range(T):
        if not mask[i]:
            continue
        read = [j for j in range(T) if mask[j] and (j <= i or not causal)]
        heads = []
        for h in range(num_heads):
            part = slice(h * d_k, (h + 1) * d_k)  # the columns of head h
            scores = [Q[i, part] @ K[j, part] / math.sqrt(d_k) for j in read]
            probabilities[h, i, read] = softmax(scores)
            heads.append(sum(probabilities[h, i, j] * V[j, part] for j in read))  # [d_k]
        y[i] = np.concatenate(heads) @ weights["W_O"] + weights["b_O"]
    return y, probabilities


def layer_norm(x, gamma, beta, epsilon=1e-12):
    """Computes (x - mean) / sqrt(variance + epsilon) * gamma + beta for each row of x."""
    y = np.zeros_like(x)
    for t, row in enumerate(x):
        mean = sum(row) / len(row)
        variance = sum((value - mean) ** 2 for value in row) / len(row)
        y[t] = (row - mean) / math.sqrt(variance + epsilon) * gamma + beta
    return y


def feed_forward(x, weights, activation):
    """Computes activation(x W_1 + b_1) W_2 + b_2."""
    inner = x @ weights["W_1"] + weights["b_1"]  # [T, F]
    inner = np.vectorize(ACTIVATIONS[activation], otypes=["float64"])(inner)
    return inner @ weights["W_2"] + weights["b_2"]  # [T, D]


def block(x, weights, options, mask):
    """Computes one layer of the Transformer, with the layer norms after or before its parts."""

    def norm(n, x):
        epsilon = options["layer_norm_epsilon"]
        return layer_norm(x, weights[f"gamma_{n}"], weights[f"beta_{n}"], epsilon)

    def attend(x):
        return attention(x, weights, options["num_heads"], mask, options["causal"])

    if options["normalize_first"]:
        y, probabilities = attend(norm(1, x))
        x = x + y
        x = x + feed_forward(norm(2, x), weights, options["activation"])
    else:
        y, probabilities = attend(x)
        x = norm(1, x + y)
        x = norm(2, x + feed_forward(x, weights, options["activation"]))
    return np.where(np.array(mask)[:, None], x, 0.0), probabilities


def sinusoids(length, dim, positions="sinusoidal", normalize=False):
    """Computes sin(p / 10000^(2k/D)) and cos(p / 10000^(2k/D)), alternately: `[T, D]`."""
    rows = np.zeros([length, dim])
    for p in range(length):
        for i in range(dim):
            k = i if positions == "sinusoidal_full_index" else i // 2
            angle = p / 10000 ** (2 * k / dim)
            rows[p, i] = math.sin(angle) if i % 2 == 0 else math.cos(angle)
        if p == 0 and positions == "sinusoidal_full_index":
            rows[p] = 0.0
        if normalize:
            rows[p] /= math.sqrt(sum(rows[p] ** 2)) + 1e-8
    return rows
