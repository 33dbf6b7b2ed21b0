"""Formulas of ELMo in plain NumPy loops, with the names and layout of bilm-tf's weights."""

import collections
import json
import math

import h5py
import numpy as np

# Options of the models in the tests: small, but with every part.
OPTIONS = {
    "lstm": {
        "dim": 6,
        "projection_dim": 4,
        "n_layers": 2,
        "cell_clip": 0.4,
        "proj_clip": 0.3,
        "use_skip_connections": True,
    },
    "char_cnn": {
        "embedding": {"dim": 3},
        "filters": [[1, 3], [2, 4], [5, 5]],
        "n_highway": 2,
        "activation": "relu",
        "max_characters_per_token": 50,
        "n_characters": 262,
    },
}
SENTENCES = [
    "The river was high , but the dog swam .".split(),
    ["A", "dog"],
    [],
    ["naïve", "犬", "x" * 48, "y" * 49, "é" * 30, "<S>", "<UNK>"],
]


def options_with(lstm=(), characters=()):
    """Returns `OPTIONS` with changes. With `characters=None`, the model reads token ids."""
    options = {"lstm": {**OPTIONS["lstm"], **dict(lstm)}}
    if characters is not None:
        options["char_cnn"] = {**OPTIONS["char_cnn"], **dict(characters)}
    return options


def token_shapes(options, vocabulary_size):
    """Returns the shapes of bilm-tf's arrays below the LSTMs."""
    shapes, dim = {}, options["lstm"]["projection_dim"]
    if "char_cnn" in options:
        cnn = options["char_cnn"]
        width, total = cnn["embedding"]["dim"], sum(count for _, count in cnn["filters"])
        shapes["char_embed"] = 261, width
        for i, (length, count) in enumerate(cnn["filters"]):
            shapes[f"CNN/W_cnn_{i}"] = 1, length, width, count
            shapes[f"CNN/b_cnn_{i}"] = (count,)
        for i in range(cnn["n_highway"]):
            for part in "carry", "transform":
                shapes[f"CNN_high_{i}/W_{part}"] = total, total
                shapes[f"CNN_high_{i}/b_{part}"] = (total,)
        if total != dim:
            shapes["CNN_proj/W_proj"] = total, dim
            shapes["CNN_proj/b_proj"] = (dim,)
    else:
        shapes["embedding"] = vocabulary_size, dim
    return shapes


def random_weights(options, vocabulary_size=20, scale=1.0, seed=0, directions=2):
    """Returns random arrays with the names and shapes of bilm-tf's HDF5 files."""
    rng, lstm = np.random.default_rng(seed), options["lstm"]
    units, dim = lstm["dim"], lstm["projection_dim"]
    shapes = token_shapes(options, vocabulary_size)
    for direction in range(directions):
        for layer in range(lstm["n_layers"]):
            cell = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
            shapes[cell + "W_0"] = 2 * dim, 4 * units
            shapes[cell + "B"] = (4 * units,)
            if dim != units:
                shapes[cell + "W_P_0"] = units, dim
    return {name: (rng.normal(size=s) * scale).astype("float32") for name, s in shapes.items()}


def write_files(folder, options, weights):
    """Writes `options.json` and `weights.hdf5`; returns both paths."""
    options_file, weights_file = folder / "options.json", folder / "weights.hdf5"
    options_file.write_text(json.dumps(options), encoding="utf-8")
    with h5py.File(weights_file, "w") as file:
        for name, array in weights.items():
            file[name] = array
    return options_file, weights_file


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x)) if np.isscalar(x) else 1.0 / (1.0 + np.exp(-x))


def characters(token, length=50):
    """Returns bilm-tf's training ids: bytes, and 256 to 260 for the markers."""
    if token in ("<S>", "</S>"):
        inner = [256 if token == "<S>" else 257]
    else:
        inner = list(token.encode("utf-8"))[: length - 2]
    row = [258, *inner, 259]
    return row + [260] * (length - len(row))


def convolution(weights, options, row):
    """Computes the activation of each filter's maximum over all positions, with padding."""
    cnn = options["char_cnn"]
    vectors = [weights["char_embed"][character].astype(float) for character in row]
    result = []
    for i, (width, count) in enumerate(cnn["filters"]):
        kernel, bias = weights[f"CNN/W_cnn_{i}"][0], weights[f"CNN/b_cnn_{i}"]
        for n in range(count):
            best = -math.inf
            for start in range(len(row) - width + 1):
                z = sum(vectors[start + k] @ kernel[k, :, n] for k in range(width)) + bias[n]
                best = max(best, z)
            result.append(max(best, 0.0) if cnn["activation"] == "relu" else math.tanh(best))
    return np.array(result)


def highway(weights, number, x):
    """Computes a highway layer. In bilm-tf, the weights named carry gate the transform."""
    part = {name: weights[f"CNN_high_{number}/{name}"].astype(float) for name in HIGHWAY}
    y = np.zeros_like(x)
    for d in range(len(x)):
        gate = sigmoid(float(x @ part["W_carry"][:, d] + part["b_carry"][d]))
        transform = max(0.0, float(x @ part["W_transform"][:, d] + part["b_transform"][d]))
        y[d] = gate * transform + (1.0 - gate) * x[d]
    return y


HIGHWAY = "W_carry", "b_carry", "W_transform", "b_transform"


def token_vector(weights, options, token):
    """Returns the vector of a token (str) or of a token id, counted from 0."""
    if "char_cnn" not in options:
        return weights["embedding"][token].astype(float)
    x = convolution(
        weights, options, characters(token, options["char_cnn"]["max_characters_per_token"])
    )
    for number in range(options["char_cnn"]["n_highway"]):
        x = highway(weights, number, x)
    if "CNN_proj/W_proj" in weights:
        x = x @ weights["CNN_proj/W_proj"] + weights["CNN_proj/b_proj"]
    return x


def lstm_step(weights, cell_name, lstm, x, hidden, cell, bites):
    """Computes one step of one layer, unit by unit, and counts the clipped values."""
    units = lstm["dim"]
    z = np.concatenate([x, hidden]) @ weights[cell_name + "W_0"].astype(float)
    z = z + weights[cell_name + "B"]
    new_cell, exposed = np.zeros(units), np.zeros(units)
    for u in range(units):
        i, j, f, o = (float(z[gate * units + u]) for gate in range(4))
        c = sigmoid(f + 1.0) * cell[u] + sigmoid(i) * math.tanh(j)
        new_cell[u] = clip(c, lstm["cell_clip"], bites, "cell")
        exposed[u] = sigmoid(o) * math.tanh(new_cell[u])
    if cell_name + "W_P_0" not in weights:
        return exposed, new_cell
    projected = exposed @ weights[cell_name + "W_P_0"].astype(float)
    return np.array([clip(h, lstm["proj_clip"], bites, "hidden") for h in projected]), new_cell


def clip(value, bound, bites, name):
    if bound is None or abs(value) <= bound:
        return value
    bites[name] += 1
    return math.copysign(bound, value)


def read_direction(weights, options, direction, vectors, state, bites):
    """Reads a sentence in one direction: outputs of every layer `[L][T]` and the new state.

    `state` is a list of one (hidden, cell) per layer.
    """
    lstm, layers, new_state = options["lstm"], [], []
    below = vectors
    for layer in range(lstm["n_layers"]):
        name = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
        (hidden, cell), outputs = state[layer], []
        for x in below:
            hidden, cell = lstm_step(weights, name, lstm, x, hidden, cell, bites)
            skip = lstm["use_skip_connections"] and layer > 0
            outputs.append(hidden + x if skip else hidden)
        new_state.append((hidden, cell))
        layers.append(outputs)
        below = outputs
    return layers, new_state


def zero_state(options):
    """Returns the zero state of a sentence: per direction a list of (hidden, cell) per layer."""
    lstm = options["lstm"]
    pair = np.zeros(lstm["projection_dim"]), np.zeros(lstm["dim"])
    return [[pair] * lstm["n_layers"] for _ in range(2)]


def bilm(weights, options, sentence, state=None, boundaries=("<S>", "</S>"), bites=None):
    """Computes the layers `[L+1, T+2, 2P]` of one sentence and its last state."""
    bites = collections.Counter() if bites is None else bites
    state = zero_state(options) if state is None else state
    tokens = [boundaries[0], *sentence, boundaries[1]]
    vectors = [token_vector(weights, options, token) for token in tokens]
    forward, last_forward = read_direction(weights, options, 0, vectors, state[0], bites)
    backward, last_backward = read_direction(weights, options, 1, vectors[::-1], state[1], bites)
    result = [[np.concatenate([x, x]) for x in vectors]]
    for ahead, back in zip(forward, backward, strict=True):
        result.append([np.concatenate(pair) for pair in zip(ahead, back[::-1], strict=True)])
    return np.array(result), [last_forward, last_backward]


def scalar_mix(layers, weights, gamma):
    """Mixes the layers `[L, T, D]` of one sentence."""
    powers = [math.exp(w - max(weights)) for w in weights]
    mixed = np.zeros_like(layers[0])
    for power, layer in zip(powers, layers, strict=True):
        mixed = mixed + gamma * power / sum(powers) * layer
    return mixed


def normalized(batch, epsilon):
    """Normalizes a list of `[L, T, D]` with one mean and one variance per layer.

    bilm-tf computes them over the tokens, AllenNLP also over the sentence boundaries.
    """
    result = [np.array(layers, float) for layers in batch]
    for number in range(len(batch[0])):
        values = np.concatenate([layers[number].ravel() for layers in batch])
        mean = values.sum() / len(values)
        variance = ((values - mean) ** 2).sum() / len(values)
        for layers in result:
            layers[number] = (layers[number] - mean) / math.sqrt(variance + epsilon)
    return result


def full_softmax_nll(x, kernel, bias, target):
    """Computes the loss of one position: `x` `[D]`, `kernel` `[V, D]`."""
    logits = [float(x @ row + b) for row, b in zip(kernel, bias, strict=True)]
    highest = max(logits)
    return highest + math.log(sum(math.exp(z - highest) for z in logits)) - logits[target]


def zipf_probability(i, size):
    return math.log((i + 2) / (i + 1)) / math.log(size + 1)


def expected_count(i, size, tries):
    """Returns the expected count of an id in a sample of distinct ids after `tries` draws."""
    return 1.0 - (1.0 - zipf_probability(i, size)) ** tries


def sampled_softmax_nll(x, kernel, bias, target, negatives, tries):
    """Computes the loss of one position; a negative that equals the target is excluded."""
    size = len(kernel)
    candidates = [target, *(n for n in negatives if n != target)]
    logits = [
        float(x @ kernel[n] + bias[n]) - math.log(expected_count(n, size, tries))
        for n in candidates
    ]
    highest = max(logits)
    return highest + math.log(sum(math.exp(z - highest) for z in logits)) - logits[0]


def perplexity(nlls):
    return math.exp(sum(nlls) / len(nlls))


def clip_by_global_norm(gradients, bound):
    """Returns the clipped gradients and the norm before clipping."""
    norm = math.sqrt(sum(float((g.astype(float) ** 2).sum()) for g in gradients.values()))
    scale = min(1.0, bound / norm)
    return {name: g * scale for name, g in gradients.items()}, norm


def adagrad(weights, accumulators, gradients, learning_rate=0.2):
    """Applies TF 1's Adagrad without epsilon: updates `accumulators`, returns new weights."""
    result = {}
    for name, gradient in gradients.items():
        accumulators[name] = accumulators[name] + gradient.astype(float) ** 2
        step = learning_rate * gradient / np.sqrt(accumulators[name])
        result[name] = weights[name] - step
    return result
