"""Reads bilm-tf's TF 1 training checkpoints into a `BiLMPretrainer`."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.convert import bilm_tf, bilm_tf_options
from tfreps._src.convert.array_files import open_tensorflow
from tfreps._src.convert.table import Row, check_arrays, read_rows
from tfreps._src.files.json_files import read_json
from tfreps._src.models.bilm import BiLM
from tfreps._src.models.bilm_pretrainer import BiLMPretrainer

IGNORED = ("global_step", "train_perplexity")  # arrays that are not weights
ADAGRAD = "/Adagrad"  # suffix that TF 1 appends to a weight's name for its accumulator


class Restored(NamedTuple):
    """Restored model, and a dict from the paths of its weights to their Adagrad accumulators."""

    model: BiLMPretrainer
    accumulators: dict[str, np.ndarray]


def table(model_options: Mapping[str, Any], vocabulary_size: int, tied: bool) -> list[Row]:
    """Returns a `Row` for each array of a pretrainer, named as in bilm-tf's training graph.

    If `tied` is True, the softmax has no kernel of its own, but uses the token table.
    """
    dim = model_options["projection_dim"]
    rows = [
        row._replace(foreign=_training_name(row, model_options))
        for row in bilm_tf.table(model_options)
    ]
    if not tied:
        rows.append(Row("lm/softmax/W", (vocabulary_size, dim), "softmax/kernel"))
    return [*rows, Row("lm/softmax/b", (vocabulary_size,), "softmax/bias")]


def read_training_folder(
    folder: str | os.PathLike[str],
    model_changes: Mapping[str, Any] | None = None,
    **pretrainer_options: Any,
) -> Restored:
    """Loads the newest checkpoint of a bilm-tf training folder, with its Adagrad accumulators.

    `model_changes` and `pretrainer_options` replace stored options of `BiLM` and `BiLMPretrainer`.
    If the model reads characters, the caller must set its character table from the vocabulary. The
    dict of accumulators is empty if the checkpoint has none.

    Raises:
        ValueError: If the folder has no checkpoint, if a file is missing or damaged, if an option
            is missing or invalid, or if the arrays do not match the options.

    Reference: bilm-tf, `training.py`; its `bin/restart.py` restores the same arrays.
    """
    options_file = Path(folder) / "options.json"
    raw = read_json(options_file)
    options = bilm_tf_options.from_json(raw, str(options_file))
    training = bilm_tf_options.training_options(raw, str(options_file))
    vocabulary_size = training["vocabulary_size"]
    tied = training["tie_embeddings"]
    options["bidirectional"] = training.pop("bidirectional")
    options["dropout"] = training.pop("dropout")
    if options["vocabulary_size"] is not None:
        options["vocabulary_size"] = vocabulary_size
    source = _newest(Path(folder))
    shapes, array = open_tensorflow(source)
    rows = table(options, vocabulary_size, tied)
    slots = [row._replace(foreign=row.foreign + ADAGRAD) for row in rows]
    has_slots = any(name.endswith(ADAGRAD) for name in shapes)
    expected = rows + slots if has_slots else rows
    check_arrays(expected, shapes, source, IGNORED)

    bilm = BiLM(**{**options, **(model_changes or {})})
    model = BiLMPretrainer(bilm, **{**training, **pretrainer_options})
    read_rows(rows, array, weights_of(model), source)
    accumulators = {}
    if has_slots:
        arrays = {path: _Array(weight) for path, weight in weights_of(model).items()}
        read_rows(slots, array, arrays, source)
        accumulators = {path: array.value for path, array in arrays.items()}
        for path in set(accumulators) & {"token_encoder/characters", "token_encoder/embeddings"}:
            accumulators[path][0] = 1.0  # row of the padding id, which is never updated
    return Restored(model, accumulators)


def weights_of(model: BiLMPretrainer) -> dict[str, keras.Variable]:
    """Returns a dict from paths to the trainable weights of a pretrainer."""
    softmax = {f"softmax/{w.path.rsplit('/', 1)[-1]}": w for w in model.softmax.trainable_weights}
    return {**bilm_tf.weights_of(model.bilm), **softmax}


class _Array:
    """Object that `read_rows` accepts as a weight and that stores the array assigned to it."""

    def __init__(self, weight: keras.Variable):
        self.shape: tuple[int, ...] = tuple(weight.shape)
        self.value: np.ndarray = np.zeros(0)  # empty until an array is assigned

    def assign(self, value: np.ndarray) -> None:
        self.value = np.array(value)


def _training_name(row: Row, model_options: Mapping[str, Any]) -> str:
    """Returns the name of a row's array in bilm-tf's training graph."""
    if not row.foreign.startswith("RNN_"):
        return f"lm/{row.foreign}"
    direction, _, _, cell, _, name = row.foreign.split("/")
    direction = f"{direction}/" if model_options["bidirectional"] else ""
    cell = f"multi_rnn_cell/cell_{cell.removeprefix('Cell')}/"
    cell = cell if model_options["num_layers"] > 1 else ""
    name = {"W_0": "kernel", "B": "bias", "W_P_0": "projection/kernel"}[name]
    return f"lm/{direction}rnn/{cell}lstm_cell/{name}"


def _newest(folder: Path) -> str:
    """Returns the path of the checkpoint that the file `checkpoint` names, or of `model.ckpt`.

    The checkpoint is also found if the folder was moved.
    """
    try:
        state = tf.train.get_checkpoint_state(os.fspath(folder))
    except ValueError as error:
        raise ValueError(
            f"{folder / 'checkpoint'} cannot be read ({error}). Expected the file that "
            "TensorFlow wrote with the checkpoints. Put the original file back."
        ) from error
    named = Path(state.model_checkpoint_path) if state else folder / "model.ckpt"
    for path in (named, folder / named.name):
        if any(Path(f"{path}{ending}").is_file() for ending in ("", ".index")):
            return str(path)
    found = f"no {named.name}" if state else "no valid `checkpoint`"
    raise ValueError(
        f"{folder}: expected a bilm-tf training folder with the file `checkpoint` and the "
        f"files that it names; the folder has {found}. Copy the missing files into the folder."
    )
