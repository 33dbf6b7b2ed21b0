"""Converts bilm-tf's `options.json` to the options of `BiLM` and back."""

import logging
import os
from collections.abc import Callable

from tfreps.files.json_files import read_json

# Upper bound for all sizes, which are read before the weights and may be wrong.
LARGEST = 1 << 24
ACTIVATIONS = ("relu", "tanh")  # of the character CNN, in bilm-tf and AllenNLP
# Keys that define the network. All others of bilm-tf are for training.
NETWORK_KEYS = (
    "lstm.dim",
    "lstm.projection_dim",
    "lstm.n_layers",
    "lstm.cell_clip",
    "lstm.proj_clip",
    "lstm.use_skip_connections",
    "char_cnn.embedding.dim",
    "char_cnn.filters",
    "char_cnn.n_highway",
    "char_cnn.activation",
    "char_cnn.max_characters_per_token",
    "char_cnn.n_characters",
    "bidirectional",
)
TRAINING_KEYS = (
    "dropout",
    "n_tokens_vocab",
    "share_embedding_softmax",
    "sample_softmax",
    "n_negative_samples_batch",
    "batch_size",
    "unroll_steps",
    "all_clip_norm_val",
    "learning_rate",
    "n_epochs",
    "n_train_tokens",
)


def read_options(path: str | os.PathLike) -> dict:
    """Reads the `options.json` of HDF5 weights and returns keyword arguments for `BiLM`.

    Training options are ignored. Unknown keys are ignored with a logged warning that names them.
    `n_characters` may be 261 (in training) or 262; both have the same meaning.

    Args:
        path: str or path-like. Path of the file.

    Returns:
        dict, as described in `from_json`.

    Raises:
        ValueError: If the file cannot be read, if a key is missing or has an invalid value, or if
            `bidirectional` is false.
    """
    options, source = read_json(path), str(path)
    if not _Section(options, None, source).get("bidirectional", _bool, True):
        raise ValueError(
            f"{source}: `bidirectional` must be true or missing; got false. HDF5 weights of "
            "bilm-tf and AllenNLP always have both directions. Set `bidirectional` to true if the "
            "weights have arrays whose names begin with RNN_1; otherwise, load the training folder "
            "of bilm-tf, whose biLM may have one direction."
        )
    return from_json(options, source)


def from_json(options: dict, source: str) -> dict:
    """Converts bilm-tf options to keyword arguments for `BiLM`.

    The result always has `bidirectional=True`. Only biLMs in training folders can have one
    direction; the reader of these folders takes the value from `training_options`.

    Args:
        options: dict. Content of an `options.json`.
        source: str. Path of the file, for error messages and for the warning about unknown keys.

    Returns:
        dict. If the biLM reads token ids, `vocabulary_size` is 0 and must be replaced with the
        number of rows of the embedding table.

    Raises:
        ValueError: If a key is missing or has an invalid value.
    """
    unknown = sorted(set(_keys(options)) - {*NETWORK_KEYS, *TRAINING_KEYS})
    if unknown:
        logging.getLogger(__name__).warning(
            "%s: ignored the unknown options %s. If they change the network, its vectors differ "
            "from the original's.",
            source,
            ", ".join(f"`{name}`" for name in unknown),
        )
    lstm = _Section(options, "lstm", source)
    result = {
        "units": lstm.get("dim", _positive),
        "projection_dim": lstm.get("projection_dim", _positive),
        "num_layers": lstm.get("n_layers", _layers, 1),
        "cell_clip": lstm.get("cell_clip", _clip, None),
        "projection_clip": lstm.get("proj_clip", _clip, None),
        "use_skip_connections": lstm.get("use_skip_connections", _bool, False),
        "bidirectional": True,
        "vocabulary_size": None,
    }
    if result["projection_dim"] > result["units"]:
        raise ValueError(
            f"{source}: `lstm.projection_dim` must not be larger than `lstm.dim`; got "
            f"{result['projection_dim']} and {result['units']}."
        )
    if "char_cnn" not in options:
        return {**result, "filters": [], "vocabulary_size": 0}  # the size is in the weights
    characters = _characters(options, source)
    total = sum(n for _, n in characters["filters"])
    length = characters["max_characters"]
    if result["projection_dim"] > total:
        raise ValueError(
            f"{source}: `lstm.projection_dim` must not be larger than the total number of "
            f"filters in `char_cnn.filters`; got {result['projection_dim']} and {total}."
        )
    if max(width for width, _ in characters["filters"]) > length:
        raise ValueError(
            f"{source}: `char_cnn.filters` must not be wider than "
            f"`char_cnn.max_characters_per_token`; got the filters {characters['filters']} and "
            f"{length} characters."
        )
    return {**result, **characters}


def training_options(options: dict, source: str) -> dict:
    """Returns the training options of a bilm-tf run, without the sizes of the network.

    Args:
        options: dict. Content of an `options.json`.
        source: str. Path of the file, for error messages.

    Returns:
        dict with the options `bidirectional` and `dropout` of `BiLM`, and the options
        `vocabulary_size`, `tied`, `num_sampled`, `batch_size` and `clip_norm` of `BiLMPretrainer`.

    Raises:
        ValueError: If a key is missing or has an invalid value.
    """
    top = _Section(options, None, source)
    sampled = top.get("sample_softmax", _bool, True)
    return {
        "bidirectional": top.get("bidirectional", _bool, False),
        "dropout": top.get("dropout", _share, 0.1),
        "vocabulary_size": top.get("n_tokens_vocab", _positive),
        "tied": top.get("share_embedding_softmax", _bool, False),
        "num_sampled": top.get("n_negative_samples_batch", _positive, 8192) if sampled else None,
        "batch_size": top.get("batch_size", _positive, 128),
        "clip_norm": top.get("all_clip_norm_val", _clip, 10.0),
    }


def as_json(model_options: dict) -> dict:
    """Returns bilm-tf options for a `BiLM`, with every key that bilm-tf or AllenNLP needs.

    Args:
        model_options: dict. Config of the `BiLM`.

    Returns:
        dict. Content of an `options.json`.

    Raises:
        ValueError: If the model has only one direction, or if it reads characters and has an
            activation that bilm-tf and AllenNLP do not support.
    """
    o = model_options
    if not o["bidirectional"]:
        raise ValueError(
            "`bidirectional` must be True for bilm-tf and AllenNLP; this model has one direction. "
            "Use `model.save` instead."
        )
    options = {
        "bidirectional": True,
        "lstm": {
            "dim": o["units"],
            "projection_dim": o["projection_dim"],
            "n_layers": o["num_layers"],
            "cell_clip": o["cell_clip"],
            "proj_clip": o["projection_clip"],
            "use_skip_connections": o["use_skip_connections"],
        },
        "dropout": o["dropout"],
    }
    if o["vocabulary_size"] is not None:
        return {**options, "n_tokens_vocab": o["vocabulary_size"]}
    if o["activation"] not in ACTIVATIONS:
        raise ValueError(
            "`activation` must be relu or tanh for bilm-tf and AllenNLP; this model has "
            f"{o['activation']!r}. Use `model.save` instead."
        )
    characters = {
        "embedding": {"dim": o["character_dim"]},
        "filters": o["filters"],
        "n_highway": o["num_highways"],
        "activation": o["activation"],
        "max_characters_per_token": o["max_characters"],
        "n_characters": 262,
    }
    return {**options, "char_cnn": characters}


def unlike_allennlp(model_options: dict) -> list[str]:
    """Lists the properties of a `BiLM` that bilm-tf supports but AllenNLP does not.

    Args:
        model_options: dict. Config of the `BiLM`.

    Returns:
        list of str. One phrase per property. The list is empty if AllenNLP can also load the model.

    Example:
    >>> from tfreps.models import BiLM
    >>> unlike_allennlp(BiLM(vocabulary_size=9, units=8, projection_dim=4).get_config())
    ['token ids as input']
    """
    o = model_options
    total = sum(count for _, count in o["filters"])
    reasons = {
        "token ids as input": o["vocabulary_size"] is not None,
        "no skip connections (`use_skip_connections=False`)": not o["use_skip_connections"],
        "LSTMs without a projection (`projection_dim` equal to `units`)": (
            o["projection_dim"] == o["units"]
        ),
        "a token encoder without a projection (filters that add up to `projection_dim`)": (
            o["vocabulary_size"] is None and o["projection_dim"] == total
        ),
    }
    return [reason for reason, holds in reasons.items() if holds]


def _keys(options: dict, prefix: str = ""):
    """Yields the names of all values, with dots between the levels, such as `lstm.dim`."""
    for key, value in options.items():
        name = prefix + key
        if isinstance(value, dict) and any(k.startswith(f"{name}.") for k in NETWORK_KEYS):
            yield from _keys(value, f"{name}.")
        elif name not in ("lstm", "char_cnn", "char_cnn.embedding"):  # an error of its own
            yield name


def _characters(options: dict, source: str) -> dict:
    section = _Section(options, "char_cnn", source)
    embedding = _Section(section.values, "embedding", source, "char_cnn.")
    section.get("n_characters", _num_characters, 262)
    return {
        "character_dim": embedding.get("dim", _positive),
        "filters": section.get("filters", _filters),
        "num_highways": section.get("n_highway", _count, 0) or 0,
        "activation": section.get("activation", _activation),
        "max_characters": section.get("max_characters_per_token", _length),
    }


class _Section:
    """Section of the options file that checks each value when it is read.

    If `name` is `None`, the section is the whole file.
    """

    def __init__(self, options: dict, name: str | None, source: str, prefix: str = ""):
        self.values = options if name is None else options.get(name)
        self.prefix = "" if name is None else f"{prefix}{name}."
        self.source = source
        if not isinstance(self.values, dict):
            raise ValueError(f"{source}: `{prefix}{name}` must be an object; got {self.values!r}.")

    def get(self, key: str, check: Callable, *default):
        if key not in self.values and default:
            return default[0]
        value = self.values.get(key)
        expected, good = check(value)
        if key not in self.values:
            raise ValueError(
                f"{self.source}: `{self.prefix}{key}` is missing; expected {expected}."
            )
        if not good:
            raise ValueError(
                f"{self.source}: `{self.prefix}{key}` must be {expected}; got {value!r}."
            )
        return value


def _is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def _positive(value):
    return f"a whole number from 1 to {LARGEST}", _is_int(value) and 1 <= value <= LARGEST


def _layers(value):
    return "a whole number from 1 to 64", _is_int(value) and 1 <= value <= 64


def _length(value):
    return f"a whole number from 3 to {LARGEST}", _is_int(value) and 3 <= value <= LARGEST


def _count(value):
    return "a whole number from 0 to 64", value is None or _is_int(value) and 0 <= value <= 64


def _bool(value):
    return "true or false", isinstance(value, bool)


def _clip(value):
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return "a positive number or null", value is None or is_number and 0 < value < float("inf")


def _share(value):
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return "a number in [0, 1)", is_number and 0 <= value < 1


def _activation(value):
    return '"relu" or "tanh"', value in ACTIVATIONS


def _num_characters(value):
    return "261 or 262", value in (261, 262)


def _filters(value):
    good = (
        isinstance(value, list)
        and value
        and all(
            isinstance(pair, list) and len(pair) == 2 and all(_positive(n)[1] for n in pair)
            for pair in value
        )
    )
    return "a list of [width, count] pairs of positive whole numbers", bool(good)
