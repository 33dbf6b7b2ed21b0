"""Equations of the Transformer in plain NumPy loops in float64, one text at a time."""

import math

import numpy as np

ACTIVATIONS = {
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "gelu_tanh": lambda x: (
        0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
    "relu": lambda x: max(x, 0.0),
}


def attention(x, weights, num_heads, mask, causal=False):
    """Computes `[T, D]` and the probabilities `[H, T, T]` from `x` `[T, D]` and mask `[T]`.

    `weights` has a kernel and a bias for each of `query`, `key`, `value` and `combine`.
    """
    length, dim = x.shape
    width = dim // num_heads
    y, probabilities = np.zeros([length, dim]), np.zeros([num_heads, length, length])
    query, key, value = (
        [row @ weights[f"{name}_kernel"] + weights[f"{name}_bias"] for row in x]
        for name in ("query", "key", "value")
    )
    for i in range(length):
        if not mask[i]:
            continue
        read = [j for j in range(length) if mask[j] and (j <= i or not causal)]
        heads = []
        for h in range(num_heads):
            part = slice(h * width, (h + 1) * width)
            powers = [math.exp(query[i][part] @ key[j][part] / math.sqrt(width)) for j in read]
            for j, power in zip(read, powers, strict=True):
                probabilities[h, i, j] = power / sum(powers)
            heads.append(sum(probabilities[h, i, j] * value[j][part] for j in read))
        y[i] = np.concatenate(heads) @ weights["combine_kernel"] + weights["combine_bias"]
    return y, probabilities


def layer_norm(x, gamma, beta, epsilon):
    """Normalizes each row of `[T, D]`."""
    rows = []
    for row in x:
        mean = sum(row) / len(row)
        variance = sum((value - mean) ** 2 for value in row) / len(row)
        rows.append((row - mean) / math.sqrt(variance + epsilon) * gamma + beta)
    return np.array(rows)


def block(x, weights, options, mask):
    """Computes one block for one text: `[T, D]` and `[H, T, T]`, zero on padding."""
    pre = options["normalize_first"]
    activation = np.vectorize(ACTIVATIONS[options["activation"]], otypes=["float64"])

    def norm(name, x):
        gamma, beta = weights[f"{name}_gamma"], weights[f"{name}_beta"]
        return layer_norm(x, gamma, beta, options["layer_norm_epsilon"])

    def attend(x):
        return attention(x, weights, options["num_heads"], mask, options["causal"])

    def feed_forward(x):
        y = activation(x @ weights["expand_kernel"] + weights["expand_bias"])
        return y @ weights["contract_kernel"] + weights["contract_bias"]

    if pre:
        y, probabilities = attend(norm("attention_norm", x))
        x = x + y
        x = x + feed_forward(norm("feed_forward_norm", x))
    else:
        y, probabilities = attend(x)
        x = norm("attention_norm", x + y)
        x = norm("feed_forward_norm", x + feed_forward(x))
    return np.where(np.asarray(mask)[:, None], x, 0.0), probabilities


def positions(length, dim, kind, normalize_rows=False):
    """Computes the sinusoidal vectors, number by number: `[T, D]`."""
    rows = np.zeros([length, dim])
    for p in range(length):
        for i in range(dim):
            if kind == "sinusoidal":
                angle = p / 10000 ** (2 * (i // 2) / dim)
            else:
                angle = p / 10000 ** (2 * i / dim)
            rows[p, i] = math.sin(angle) if i % 2 == 0 else math.cos(angle)
        if p == 0 and kind == "sinusoidal_full_index":
            rows[p] = 0.0
        if normalize_rows:
            rows[p] /= math.sqrt(sum(rows[p] ** 2)) + 1e-8
    return rows


def block_weights(layer):
    """Returns the weights of a `TransformerBlock` or `SelfAttention` by the names used here."""
    attention = getattr(layer, "attention", layer)
    found = {}
    fused = {w.name: np.asarray(w, "float64") for w in attention.query_key_value.weights}
    for kind, array in fused.items():
        for name, part in zip(("query", "key", "value"), np.split(array, 3, axis=-1), strict=True):
            found[f"{name}_{kind}"] = part
    parts = {"combine": attention.combine}
    if attention is not layer:
        names = "expand", "contract", "attention_norm", "feed_forward_norm"
        parts |= {name: getattr(layer, name) for name in names}
    for name, part in parts.items():
        found |= {f"{name}_{w.name}": np.asarray(w, "float64") for w in part.weights}
    return found
