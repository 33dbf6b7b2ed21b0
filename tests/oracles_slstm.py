"""Equations of the S-LSTM in plain NumPy loops, one sentence at a time."""

import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def normalized(logits):
    """Computes the softmax of the sigmoids of logits, one row per gate."""
    powers = np.exp(sigmoid(logits))
    return powers / powers.sum(axis=0)


def groups(options, of):
    """Returns the groups of offsets whose neighbors are read together."""
    window, kind = options["window"], options["neighbors"]
    if kind == "summed":
        return [[-k for k in range(1, window + 1)], [0], list(range(1, window + 1))]
    if kind == "nearest_cells" and of == "cells":
        return [[-1], [0], [1]]
    return [[k] for k in range(-window, window + 1)]


def at(states, position, offsets):
    """Sums the states at these offsets, with zeros beyond the ends."""
    inside = [position + k for k in offsets if 0 <= position + k < len(states)]
    return sum((states[i] for i in inside), np.zeros_like(states[0]))


def step(x, h, c, g, q, weights, options, fixed=()):
    """Computes a step: `x` `[n, P]`, `h`, `c` `[n, H]`, `g`, `q` `[S, H]` -> h, c, g, q."""
    units, num_nodes = h.shape[1], len(g)
    num_cells = len(groups(options, "cells"))
    gated = options["input_term"] == "gate"
    names = ["i", *(f"f{j}" for j in range(num_cells)), *(f"s{k}" for k in range(num_nodes)), "o"]
    names += ["u"] if gated else []
    # Columns of a node: the gates of the words (only its own `s`), then its own three gates.
    from_node = ["i", *(f"f{j}" for j in range(num_cells)), "s", "o", *(["u"] if gated else [])]
    from_node += ["node_own", "node_output", "node_word"]

    def columns(array, position):
        return array[..., position * units : (position + 1) * units]

    new_h, new_c = h.copy(), c.copy()
    for i in range(len(h)):
        xi = np.concatenate([at(h, i, offsets) for offsets in groups(options, "hidden")])
        z = {}
        for position, name in enumerate(names):
            z[name] = columns(weights["bias"], position) + x[i] @ columns(
                weights["kernel"], position
            )
            z[name] = z[name] + xi @ columns(weights["recurrent_kernel"], position)
            for k in range(num_nodes):
                if name[0] != "s":
                    at_node = from_node.index(name)
                elif name == f"s{k}":
                    at_node = from_node.index("s")
                else:
                    continue
                z[name] = z[name] + g[k] @ columns(weights["sentence_kernel"][k], at_node)
        weighing = [name for name in names if name not in "ou"]
        gates = normalized(np.array([z[name] for name in weighing]))
        terms = [np.tanh(z["u"]) if gated else x[i]]
        terms += [at(c, i, offsets) for offsets in groups(options, "cells")]
        terms += list(q)
        if i in fixed:
            continue
        new_c[i] = sum(gate * term for gate, term in zip(gates, terms, strict=True))
        new_h[i] = sigmoid(z["o"]) * np.tanh(new_c[i])
    new_g, new_q = g.copy(), q.copy()
    for k in range(num_nodes):
        own, output, word = (
            columns(weights["sentence_bias"][k], position)
            + g[k] @ columns(weights["sentence_kernel"][k], len(from_node) - 3 + position)
            for position in range(3)
        )
        mean = h.mean(axis=0)
        own = own + mean @ columns(weights["mean_kernel"][k], 0)
        output = output + mean @ columns(weights["mean_kernel"][k], 1)
        words = np.array([word + state @ columns(weights["word_kernel"], k) for state in h])
        if options["sentence_normalization"] == "joint":
            *gates, own = normalized(np.array([*words, own]))
        else:
            gates, own = normalized(words), sigmoid(own)
        new_q[k] = own * q[k] + sum(gate * cell for gate, cell in zip(gates, c, strict=True))
        new_g[k] = sigmoid(output) * np.tanh(new_q[k])
    return new_h, new_c, new_g, new_q


def slstm(x, weights, options):
    """Computes the layer for one sentence `[n, P]`, n > 0: `[n, H]` and `[S, H]`."""
    units, num_nodes = options["units"], options["num_sentence_nodes"]
    boundary, start = options["boundary"], options["initial_state"]
    if boundary == "learned":
        x = np.concatenate([weights["boundary_inputs"][:1], x, weights["boundary_inputs"][1:]])
    elif boundary == "fixed":
        x = np.pad(x, [(1, 1), (0, 0)])
    n = len(x)
    h, c = np.zeros([n, units]), np.zeros([n, units])
    g, q = np.zeros([num_nodes, units]), np.zeros([num_nodes, units])
    if start == "embedding":
        h, c = x.copy(), x.copy()
    elif start != "zeros":
        h, c = h + weights["initial_hidden"], c + weights["initial_cell"]
    if boundary == "fixed":
        h[[0, -1]], c[[0, -1]] = weights["boundary_hidden"], weights["boundary_cell"]
    if start == "embedding":
        g, q = g + h.mean(axis=0), q + c.mean(axis=0)
    elif start == "learned":
        g, q = g + weights["initial_hidden"], q + weights["initial_cell"]
    elif start == "learned_separately" and num_nodes:
        g, q = weights["initial_sentence_hidden"], weights["initial_sentence_cell"]
    fixed = (0, n - 1) if boundary == "fixed" else ()
    for _ in range(options["num_steps"]):
        h, c, g, q = step(x, h, c, g, q, weights, options, fixed)
    return (h if boundary == "zeros" else h[1:-1]), g
