"""Reads and writes ELMo weights in the format of bilm-tf and AllenNLP (JSON and HDF5)."""

import contextlib
import json
import math
import os
import warnings
from collections.abc import Mapping
from typing import Any

import h5py
import keras
import numpy as np

from tfreps._src.convert import bilm_tf_options
from tfreps._src.convert.table import Row, check_arrays, finite, read_rows, written_rows
from tfreps._src.files.atomic_files import replacing
from tfreps._src.files.disk_errors import check_space
from tfreps._src.files.hdf5_files import array_shapes, find_array, open_hdf5, read_array
from tfreps._src.models.bilm import BiLM

EXPECTED = "an HDF5 file with weights"


def table(model_options: Mapping[str, Any]) -> list[Row]:
    """Returns a `Row` for each array of a `BiLM`, from the token encoder to the last LSTM layer."""
    o = model_options
    dim = o["projection_dim"]
    units = o["units"]
    rows = _token_rows(o) if o["vocabulary_size"] is None else [_embedding_row(o)]
    directions = ["forward", "backward"] if o["bidirectional"] else ["forward"]
    for number, direction in enumerate(directions):
        for layer in range(o["num_layers"]):
            foreign = f"RNN_{number}/RNN/MultiRNNCell/Cell{layer}/LSTMCell/"
            ours = f"bilstm/{direction}/"
            # bilm-tf orders the gates i, j, f, o; tfreps orders them i, f, g (their j), o.
            kernel = (2 * dim, 4 * units)
            bias = (4 * units,)
            rows.append(Row(foreign + "W_0", kernel, f"{ours}kernel_{layer}", _swap, _swap))
            rows.append(Row(foreign + "B", bias, f"{ours}bias_{layer}", _swap, _swap))
            if dim != units:
                rows.append(Row(foreign + "W_P_0", (units, dim), f"{ours}projection_{layer}"))
    return rows


def read_weights(
    options_file: str | os.PathLike[str],
    weights_file: str | os.PathLike[str],
    embedding_file: str | os.PathLike[str] | None = None,
    **model_options: Any,
) -> BiLM:
    """Loads a `BiLM`; see `BiLM.from_pretrained`.

    If `embedding_file` is given, the model reads token ids, and its token vectors are the array
    `embedding` of this HDF5 file, as written by bilm-tf's `dump_token_embeddings`.

    Raises:
        ValueError: If a file is missing or damaged, if an option is missing or invalid, or if the
            files do not belong together.
    """
    options = bilm_tf_options.read_options(options_file)
    source = str(weights_file)
    ignored: list[str] = []
    with contextlib.ExitStack() as stack:
        file = tokens = stack.enter_context(open_hdf5(weights_file, EXPECTED))
        if embedding_file is not None:
            tokens = stack.enter_context(open_hdf5(embedding_file, EXPECTED))
            # The array `embedding` replaces these arrays.
            ignored = [row.foreign for row in _token_rows(options)]
        if embedding_file is not None or options["vocabulary_size"] is not None:
            size, *_ = *array_shapes(tokens).get("embedding", ()), 0
            options = {**options, "vocabulary_size": size}
        rows = table(options)
        own = [row for row in rows if tokens is file or row.foreign != "embedding"]
        check_arrays(own, array_shapes(file), source, ignored)
        if tokens is not file:
            outside = [row for row in rows if row not in own]
            check_arrays(outside, array_shapes(tokens), str(embedding_file))
        for row in rows:  # checks that the data exist before allocating memory
            find_array(file if row in own else tokens, row.foreign)
        model = BiLM(**{**options, **model_options})

        def array(name: str) -> np.ndarray:
            if name == "embedding":
                return finite(read_array(tokens, name), name, tokens.filename)
            return read_array(file, name)

        read_rows(rows, array, weights_of(model), source)
    if model.initial_state == "warm":
        model.warm_up()
    return model


def write_weights(
    model: BiLM, options_file: str | os.PathLike[str], weights_file: str | os.PathLike[str]
) -> None:
    """Writes `options.json` and an HDF5 file for bilm-tf and AllenNLP, each atomically.

    The arrays are float32 and have the names that bilm-tf reads. (For models with one layer or one
    direction, bilm-tf omits parts of the names when it writes a file, and cannot read that file.)
    """
    config = model.get_config()
    options = bilm_tf_options.as_json(config)
    arrays = written_rows(table(config), weights_of(model))
    with replacing(options_file) as new_options:
        new_options.write_text(json.dumps(options, indent=1) + "\n", encoding="utf-8")
        check_space(weights_file, 4 * sum(math.prod(row.shape) for row in table(config)))
        with replacing(weights_file) as new_weights, h5py.File(new_weights, "w") as file:
            for name, make in arrays.items():
                file[name] = make()
    reasons = bilm_tf_options.unlike_allennlp(config)
    if reasons:
        warnings.warn(
            f"bilm-tf can load {os.path.basename(weights_file)}, but AllenNLP cannot: the model "
            f"has {', and '.join(reasons)}.",
            stacklevel=5,  # makes the warning point to the caller of `save_pretrained`
        )


def weights_of(model: BiLM) -> dict[str, keras.Variable]:
    """Returns a dict from paths to the weights of the token encoder and the LSTMs.

    Carried states are left out.
    """
    layers = (model.token_encoder, "token_encoder"), (model.bilstm, "bilstm")
    return {
        weight.path[weight.path.index(name) :]: weight
        for layer, name in layers
        for weight in layer.weights
    }


def _token_rows(o: Mapping[str, Any]) -> list[Row]:
    ours = "token_encoder/"
    dim = o["character_dim"]
    total = sum(n for _, n in o["filters"])
    rows = [Row("char_embed", (261, dim), ours + "characters", _prepend_zero_row, _drop_zero_row)]
    for i, (width, count) in enumerate(o["filters"]):
        shape = (1, width, dim, count)
        name = f"{ours}convolution_{i}_"
        rows.append(Row(f"CNN/W_cnn_{i}", shape, name + "kernel", _drop_height, _add_height))
        rows.append(Row(f"CNN/b_cnn_{i}", (count,), name + "bias"))
    for i in range(o["num_highways"]):
        # bilm-tf's carry gate multiplies the transform, not the input.
        for theirs, name in (("carry", "gate"), ("transform", "transform")):
            foreign = f"CNN_high_{i}/"
            highway = f"{ours}highway_{i}/{name}_"
            rows.append(Row(f"{foreign}W_{theirs}", (total, total), highway + "kernel"))
            rows.append(Row(f"{foreign}b_{theirs}", (total,), highway + "bias"))
    if o["projection_dim"] != total:
        shape = (total, o["projection_dim"])
        rows.append(Row("CNN_proj/W_proj", shape, ours + "projection_kernel"))
        rows.append(Row("CNN_proj/b_proj", shape[1:], ours + "projection_bias"))
    return rows


def _embedding_row(o: Mapping[str, Any]) -> Row:
    shape = (o["vocabulary_size"], o["projection_dim"])
    ours = "token_encoder/embeddings"
    return Row("embedding", shape, ours, _prepend_zero_row, _drop_zero_row)


def _prepend_zero_row(array: np.ndarray) -> np.ndarray:
    """Returns the array after adding a first row of zeros, the vector of padding in tfreps."""
    return np.concatenate([np.zeros_like(array[:1]), array])


def _drop_zero_row(array: np.ndarray) -> np.ndarray:
    return array[1:]


def _drop_height(array: np.ndarray) -> np.ndarray:
    return array[0]


def _add_height(array: np.ndarray) -> np.ndarray:
    return array[None]


def _swap(array: np.ndarray) -> np.ndarray:
    """Returns the array with the middle two of its four gates swapped: i, j, f, o to i, f, j, o."""
    i, second, third, o = np.split(array, 4, axis=-1)
    return np.concatenate([i, third, second, o], axis=-1)
