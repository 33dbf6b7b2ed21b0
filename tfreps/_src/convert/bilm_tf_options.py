"""Converts bilm-tf's `options.json` to the options of `BiLM` and back, by tables of keys."""

import logging
import os
from collections.abc import Iterator, Mapping
from typing import Any

from tfreps._src.convert.config_keys import (
    LARGEST,
    Key,
    clip,
    flag,
    one_of,
    share,
    size,
    value_of,
    whole,
)
from tfreps._src.files.json_files import read_json

ACTIVATIONS = ("relu", "tanh")  # activations of the character CNN in bilm-tf and AllenNLP


def filters(value: Any) -> tuple[str, bool]:
    """Returns a description of valid CNN filters, and whether `value` is valid.

    The description is a str for an error message. Valid filters are a list of pairs of positive
    integers, the width and the number of the filters of this width.
    """
    pairs = isinstance(value, list) and all(isinstance(p, list) and len(p) == 2 for p in value)
    good = pairs and value and all(size(number)[1] for pair in value for number in pair)
    return "a list of [width, count] pairs of positive whole numbers", bool(good)


def _num_highways(value: Any) -> tuple[str, bool]:
    return "a whole number from 0 to 64", value is None or whole(0, 64)(value)[1]


LSTM = (
    Key("lstm.dim", "units", size),
    Key("lstm.projection_dim", "projection_dim", size),
    Key("lstm.n_layers", "num_layers", whole(1, 64), 1),
    Key("lstm.cell_clip", "cell_clip", clip, None),
    Key("lstm.proj_clip", "projection_clip", clip, None),
    Key("lstm.use_skip_connections", "use_skip_connections", flag, False),
)
CHARACTERS = (
    Key("char_cnn.embedding.dim", "character_dim", size),
    Key("char_cnn.filters", "filters", filters),
    Key("char_cnn.n_highway", "num_highways", _num_highways, 0),
    Key("char_cnn.activation", "activation", one_of(*ACTIVATIONS, shown='"relu" or "tanh"')),
    Key("char_cnn.max_characters_per_token", "max_characters", whole(3, LARGEST)),
    # Both values have the same meaning: bilm-tf writes 261 in training.
    Key("char_cnn.n_characters", "n_characters", one_of(261, 262, shown="261 or 262"), 262),
)
BIDIRECTIONAL = Key("bidirectional", "bidirectional", flag, True)
DROPOUT = Key("dropout", "dropout", share, 0.1)
VOCABULARY = Key("n_tokens_vocab", "vocabulary_size", size)
SAMPLED = Key("sample_softmax", "sampled", flag, True)
NEGATIVES = Key("n_negative_samples_batch", "num_sampled", size, 8192)
TRAINING = (
    BIDIRECTIONAL._replace(default=False),
    DROPOUT,
    VOCABULARY,
    Key("share_embedding_softmax", "tie_embeddings", flag, False),
    Key("batch_size", "batch_size", size, 128),
    Key("all_clip_norm_val", "clip_norm", clip, 10.0),
)
# Keys that define the network, and keys that bilm-tf uses only for training.
NETWORK_KEYS = tuple(key.theirs for key in (*LSTM, *CHARACTERS, BIDIRECTIONAL))
TRAINING_KEYS = (
    *(key.theirs for key in (*TRAINING[1:], SAMPLED, NEGATIVES)),
    *("unroll_steps", "learning_rate", "n_epochs", "n_train_tokens"),
)


def read_options(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Reads the `options.json` of HDF5 weights and returns keyword arguments for `BiLM`.

    Raises:
        ValueError: If the file cannot be read, if a key is missing or has an invalid value, or if
            `bidirectional` is false.
    """
    options, source = read_json(path), str(path)
    if not value_of(options, BIDIRECTIONAL, source):
        raise ValueError(
            f"{source}: `bidirectional` must be true or missing; got false. HDF5 weights of "
            "bilm-tf and AllenNLP always have both directions. Set `bidirectional` to true if the "
            "weights have arrays whose names begin with RNN_1; otherwise, load the training folder "
            "of bilm-tf, whose biLM may have one direction."
        )
    return from_json(options, source)


def from_json(options: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Converts bilm-tf options to keyword arguments for `BiLM`, with `bidirectional=True`.

    Training options are ignored. Unknown keys are ignored with a logged warning that names them.
    If the biLM reads token ids, `vocabulary_size` is 0 and must be replaced with the number of rows
    of the embedding table.

    Raises:
        ValueError: If an option is missing or invalid, or if two options do not fit together.
    """
    unknown = sorted(set(_keys(options)) - {*NETWORK_KEYS, *TRAINING_KEYS})
    if unknown:
        logging.getLogger(__name__).warning(
            "%s: ignored the unknown options %s. If these options change the network, the vectors "
            "of the loaded model differ from those of the original.",
            source,
            ", ".join(f"`{name}`" for name in unknown),
        )
    result = {key.ours: value_of(options, key, source) for key in LSTM}
    result |= {"bidirectional": True, "vocabulary_size": None}
    dim = result["projection_dim"]
    if dim > result["units"]:
        raise ValueError(
            f"{source}: `lstm.projection_dim` must not be larger than `lstm.dim`; got {dim} "
            f"and {result['units']}. Use the options file that was published with the weights."
        )
    if "char_cnn" not in options:
        return {**result, "filters": [], "vocabulary_size": 0}  # the weights determine the size
    result |= {key.ours: value_of(options, key, source) for key in CHARACTERS}
    del result["n_characters"]
    result["num_highways"] = result["num_highways"] or 0
    total = sum(n for _, n in result["filters"])
    if dim > total:
        raise ValueError(
            f"{source}: `lstm.projection_dim` must not be larger than the total number of "
            f"filters in `char_cnn.filters`; got {dim} and {total}. Use the options file that "
            "was published with the weights."
        )
    length = result["max_characters"]
    if max(width for width, _ in result["filters"]) > length:
        raise ValueError(
            f"{source}: `char_cnn.filters` must not be wider than "
            f"`char_cnn.max_characters_per_token`; got the filters {result['filters']} and "
            f"{length} characters. Use the options file that was published with the weights."
        )
    return result


def training_options(options: Mapping[str, Any], source: str) -> dict[str, Any]:
    """Converts bilm-tf's training options to a dict of options with the names in tfreps.

    `num_sampled` is `None` if the softmax is not sampled.
    """
    found = {key.ours: value_of(options, key, source) for key in TRAINING}
    sampled = value_of(options, SAMPLED, source)
    return {**found, "num_sampled": value_of(options, NEGATIVES, source) if sampled else None}


def as_json(model_options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the content of `options.json` for the config of a `BiLM`.

    Raises:
        ValueError: If the model has only one direction, or if it reads characters and has an
            activation that bilm-tf and AllenNLP do not support.
    """
    o = model_options
    reads_tokens = o["vocabulary_size"] is not None
    if not o["bidirectional"]:
        raise ValueError(
            "`bidirectional` must be True for bilm-tf and AllenNLP; this model has one direction. "
            "Use `model.save` instead."
        )
    if not reads_tokens and o["activation"] not in ACTIVATIONS:
        raise ValueError(
            "`activation` must be relu or tanh for bilm-tf and AllenNLP; this model has "
            f"{o['activation']!r}. Use `model.save` instead."
        )
    values = {**o, "n_characters": 262}
    result: dict[str, Any] = {}
    for key in BIDIRECTIONAL, *LSTM, DROPOUT, *([VOCABULARY] if reads_tokens else CHARACTERS):
        *outer, name = key.theirs.split(".")
        inner = result
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[name] = values[key.ours]
    return result


def unlike_allennlp(model_options: Mapping[str, Any]) -> list[str]:
    """Returns the properties of a `BiLM` that bilm-tf supports but AllenNLP does not.

    Each property is a phrase for a message, such as "token ids as input".
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


def _keys(options: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Yields the name of each value in `options`, with its outer keys, such as `lstm.dim`."""
    for key, value in options.items():
        name = prefix + key
        if isinstance(value, dict) and any(k.startswith(f"{name}.") for k in NETWORK_KEYS):
            yield from _keys(value, f"{name}.")
        elif name not in ("lstm", "char_cnn", "char_cnn.embedding"):  # `value_of` checks these
            yield name
