"""Sentence-State LSTM in NumPy loops, one sentence at a time; slstm.md explains it.

The weights are dicts with the names of the paper: W, U and b of each gate of a word, and for each
sentence node, V of the gates of the words, and W, U and b of its own gates g, o and f.
"""

import numpy as np


def sigmoid(z):
    """Computes 1 / (1 + exp(-z))."""
    return 1.0 / (1.0 + np.exp(-z))


def softmax(rows):
    """Computes exp(row) / sum of exp(rows), for each column separately."""
    powers = np.exp(rows)
    return powers / powers.sum(axis=0)


def groups(window, neighbors):
    """Returns the offsets of the neighbors that xi reads, and of those whose cells have a gate."""
    separate = {"l" * -k or "r" * k or "f": [k] for k in range(-window, window + 1)}
    sides = {"l": range(-window, 0), "f": [0], "r": range(1, window + 1)}
    nearest = {"l": [-1], "f": [0], "r": [1]}
    return {
        "separate": (separate, separate),
        "summed": (sides, sides),
        "nearest_cells": (separate, nearest),
    }[neighbors]


def total(states, i, offsets):
    """Returns the sum of the states at i + offset, with zeros beyond the ends."""
    inside = [states[i + k] for k in offsets if 0 <= i + k < len(states)]
    return sum(inside, np.zeros_like(states[0]))


def word_gates(i, x, h, g, weights, hidden):
    """Computes gate_k = W_k xi + U_k x_i + V_k g + b_k for every gate k of word i."""
    xi = np.concatenate([total(h, i, offsets) for offsets in hidden.values()])  # [3 H]
    W, U, b = weights["W"], weights["U"], weights["b"]
    gate = {k: W[k] @ xi + U[k] @ x[i] + b[k] for k in W}  # i, l, f, r, s, o, u; [H] each
    for node, g_n in zip(weights["nodes"], g, strict=True):
        for k in node["V"]:  # all gates but the s of other nodes
            gate[k] = gate[k] + node["V"][k] @ g_n
    return gate


def word_step(i, x, h, c, g, c_g, weights, options):
    """Computes c_i = l c_{i-1} + f c_i + r c_{i+1} + s c_g + i u and h_i = o tanh(c_i)."""
    hidden, cells = groups(options["window"], options["neighbors"])
    gate = word_gates(i, x, h, g, weights, hidden)
    shares = softmax([sigmoid(gate[k]) for k in gate if k not in ("o", "u")])  # [5, H]
    u = np.tanh(gate["u"]) if options["input_term"] == "gate" else x[i]
    terms = [u, *(total(c, i, offsets) for offsets in cells.values()), *c_g]
    c_i = sum(share * term for share, term in zip(shares, terms, strict=True))  # [H]
    return sigmoid(gate["o"]) * np.tanh(c_i), c_i


def node_step(h, c, g, c_g, node, options):
    """Computes c_g = f_g c_g + sum of f_i c_i and g = o tanh(c_g)."""
    W, U, b = node["W"], node["U"], node["b"]
    mean = h.mean(axis=0)  # [H]
    f_g = sigmoid(W["g"] @ g + U["g"] @ mean + b["g"])
    o = sigmoid(W["o"] @ g + U["o"] @ mean + b["o"])
    f = [sigmoid(W["f"] @ g + U["f"] @ h_i + b["f"]) for h_i in h]  # n of [H]
    if options["sentence_normalization"] == "joint":
        *f, f_g = softmax([*f, f_g])
    else:
        f = softmax(f)
    c_g = f_g * c_g + sum(f_i * c_i for f_i, c_i in zip(f, c, strict=True))
    return o * np.tanh(c_g), c_g


def step(x, h, c, g, c_g, weights, options):
    """Computes the new states of all words and nodes from the states before the step."""
    new_h, new_c, new_g, new_c_g = h.copy(), c.copy(), g.copy(), c_g.copy()
    for i in range(len(x)):
        new_h[i], new_c[i] = word_step(i, x, h, c, g, c_g, weights, options)
    for n, node in enumerate(weights["nodes"]):
        new_g[n], new_c_g[n] = node_step(h, c, g[n], c_g[n], node, options)
    return new_h, new_c, new_g, new_c_g


def start(x, weights, options):
    """Returns the inputs with <s> and </s>, and the states before the first step."""
    if options["boundary"] == "learned":
        before, after = weights["boundary_inputs"]
        x = np.array([before, *x, after])  # [n + 2, H]
    H, S = len(weights["b"]["i"]), len(weights["nodes"])
    h, c, g, c_g = (np.zeros([count, H]) for count in (len(x), len(x), S, S))
    if options["initial_state"] == "learned":
        h, g = h + weights["initial_hidden"], g + weights["initial_hidden"]
        c, c_g = c + weights["initial_cell"], c_g + weights["initial_cell"]
    elif options["initial_state"] == "embedding":
        h, c, g, c_g = h + x, c + x, g + x.mean(axis=0), c_g + x.mean(axis=0)
    return x, h, c, g, c_g


def slstm(x, weights, num_steps, options):
    """Computes the hidden states of the words `[n, H]` and of the nodes `[S, H]`."""
    x, h, c, g, c_g = start(x, weights, options)
    for _ in range(num_steps):
        h, c, g, c_g = step(x, h, c, g, c_g, weights, options)
    return (h[1:-1] if options["boundary"] == "learned" else h), g
