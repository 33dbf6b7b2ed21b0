"""ELMo: character CNN, highway layers, clipped LSTMs in two directions, and the mix of layers.

`options` and `weights` are the published files: the JSON, and the arrays of the HDF5 by name.
"""

import numpy as np


def character_ids(token, max_characters=50):
    """Returns start of token 258, UTF-8 bytes 0 to 255, end of token 259, padding 260."""
    boundaries = {"<S>": [256], "</S>": [257]}  # start and end of the sentence
    inner = boundaries.get(token) or list(token.encode("utf-8"))[: max_characters - 2]
    ids = [258, *inner, 259]
    return ids + [260] * (max_characters - len(ids))  # [C]


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + np.exp(-x))


def convolution(x, W, b):
    """y[n] = max over s of sum over k of x[s + k] . W[k, :, n] + b[n]."""
    width, _, count = W.shape
    y = np.zeros(count)  # one value for each filter of this width
    for n in range(count):
        windows = range(len(x) - width + 1)
        y[n] = max(sum(x[s + k] @ W[k, :, n] for k in range(width)) + b[n] for s in windows)
    return y


def highway(x, W_gate, b_gate, W_transform, b_transform):
    """g = sigmoid(x W_gate + b_gate);  y = g relu(x W_transform + b_transform) + (1 - g) x."""
    g = sigmoid(x @ W_gate + b_gate)  # [F]
    return g * np.maximum(0.0, x @ W_transform + b_transform) + (1.0 - g) * x


def token_vector(weights, options, token):
    """Returns the vector of a token: convolutions, activation, highway layers, projection."""
    if "char_cnn" not in options:  # a model of token ids
        return weights["embedding"][token].astype(float)
    cnn = options["char_cnn"]
    ids = character_ids(token, cnn["max_characters_per_token"])
    x = weights["char_embed"][ids].astype(float)  # [C, D]
    kernels = [weights[f"CNN/W_cnn_{i}"][0] for i in range(len(cnn["filters"]))]
    maxima = [convolution(x, W, weights[f"CNN/b_cnn_{i}"]) for i, W in enumerate(kernels)]
    x = np.concatenate(maxima)  # [F]
    x = np.maximum(0.0, x) if cnn["activation"] == "relu" else np.tanh(x)
    for i in range(cnn["n_highway"]):
        names = "W_carry", "b_carry", "W_transform", "b_transform"
        x = highway(x, *(weights[f"CNN_high_{i}/{name}"] for name in names))
    if "CNN_proj/W_proj" in weights:
        x = x @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]
    return x  # [P]


def clip(x, bound):
    """min(max(x, -bound), bound)."""
    return x if bound is None else np.clip(x, -bound, bound)


def lstm_step(x, h, c, W, B, W_P=None, cell_clip=None, projection_clip=None):
    """c' = clip(sigmoid(f + 1) c + sigmoid(i) tanh(j));  h' = clip((sigmoid(o) tanh(c')) W_P)."""
    i, j, f, o = np.split(np.concatenate([x, h]) @ W + B, 4)  # [U] each
    c = clip(sigmoid(f + 1.0) * c + sigmoid(i) * np.tanh(j), cell_clip)  # [U]
    h = sigmoid(o) * np.tanh(c)
    return (h if W_P is None else clip(h @ W_P, projection_clip)), c  # [P], [U]


def read_direction(weights, options, direction, x, state=None):
    """Reads `x` `[T][P]` in one direction: outputs `[L][T][P]` and the last (h, c) per layer."""
    lstm, outputs, last = options["lstm"], [], []
    for layer in range(lstm["n_layers"]):
        cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
        W, B, W_P = (weights.get(cell + name) for name in ("W_0", "B", "W_P_0"))
        zeros = np.zeros(lstm["projection_dim"]), np.zeros(lstm["dim"])
        (h, c), y = state[layer] if state else zeros, []
        for x_t in x:
            h, c = lstm_step(x_t, h, c, W, B, W_P, lstm["cell_clip"], lstm["proj_clip"])
            y.append(h + x_t if layer > 0 and lstm["use_skip_connections"] else h)
        outputs.append(y)
        last.append((h, c))
        x = y
    return outputs, last


def bilm(weights, options, sentence, state=None, boundaries=("<S>", "</S>")):
    """Returns all layers of a sentence with its boundaries, `[L + 1, T + 2, 2P]`, and the state."""
    tokens = [boundaries[0], *sentence, boundaries[1]]
    x = [token_vector(weights, options, token) for token in tokens]  # [T + 2][P]
    starts = state or (None, None)
    forward, last_forward = read_direction(weights, options, 0, x, starts[0])
    backward, last_backward = read_direction(weights, options, 1, x[::-1], starts[1])
    layers = [np.concatenate([x, x], axis=-1)]  # layer 0: the token vectors, twice
    for f, b in zip(forward, backward, strict=True):
        layers.append(np.concatenate([f, b[::-1]], axis=-1))
    return np.array(layers), [last_forward, last_backward]


def scalar_mix(h, w, gamma):
    """ELMo_t = gamma * sum over l of s_l h[l, t], with s = softmax(w)."""
    s = np.exp(w - np.max(w))
    s = s / s.sum()  # [L + 1]
    return gamma * sum(s_l * h_l for s_l, h_l in zip(s, h, strict=True))  # [T, 2P]
