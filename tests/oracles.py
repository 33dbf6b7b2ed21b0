"""Small ELMo models with the names and layout of bilm-tf's files; formulas of its options.

The formulas of ELMo are in docs/by_hand/.
"""

import collections
import json
import math

import h5py
import numpy as np

from docs.by_hand import elmo

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


def count_clips(monkeypatch):
    """Returns a counter, by bound, of the values that the oracle clips from now on."""
    clipped, clip = collections.Counter(), elmo.clip

    def count(x, bound):
        if bound is not None:
            clipped[bound] += np.sum(np.abs(x) > bound)
        return clip(x, bound)

    monkeypatch.setattr(elmo, "clip", count)
    return clipped


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
