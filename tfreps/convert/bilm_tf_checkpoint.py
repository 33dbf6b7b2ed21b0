"""Reads bilm-tf's TF 1 training checkpoints into a `BiLMPretrainer`."""

import math
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from tfreps.convert import bilm_tf, bilm_tf_options
from tfreps.convert.table import Row, check_arrays, read_rows
from tfreps.files.json_files import read_json
from tfreps.models.bilm import BiLM
from tfreps.models.bilm_pretrainer import BiLMPretrainer

IGNORED = ("global_step", "train_perplexity")  # arrays that are not weights
ADAGRAD = "/Adagrad"  # suffix that TF 1 appends to a weight's name for its accumulator
# Errors that TensorFlow raises for damaged or foreign files.
UNREADABLE = (tf.errors.OpError, ValueError, RuntimeError, IndexError)


class Restored(NamedTuple):
    """A model, and a dict that maps the path of each weight to its Adagrad accumulator."""

    model: BiLMPretrainer
    accumulators: dict[str, np.ndarray]


def table(model_options: dict, vocabulary_size: int, tied: bool) -> list[Row]:
    """Returns a `Row` for each array of a pretrainer, named as in bilm-tf's training graph."""
    dim = model_options["projection_dim"]
    rows = [
        row._replace(foreign=_training_name(row, model_options))
        for row in bilm_tf.table(model_options)
    ]
    if not tied:
        rows.append(Row("lm/softmax/W", (vocabulary_size, dim), "softmax/kernel"))
    return [*rows, Row("lm/softmax/b", (vocabulary_size,), "softmax/bias")]


def read_training_folder(
    folder: str | os.PathLike, model_changes: dict | None = None, **pretrainer_options
) -> Restored:
    """Loads the newest checkpoint of a bilm-tf training folder.

    Args:
        folder: str or path-like. Folder with `options.json`, `checkpoint` and the files that
            `checkpoint` names.
        model_changes: dict. Options of `BiLM` that replace the stored ones, such as `dropout` or
            `dtype`. If `None`, the stored options are used. Defaults to `None`.
        **pretrainer_options: Options of `BiLMPretrainer` that replace those in `options.json`.

    Returns:
        `Restored`, a tuple `(model, accumulators)`. `model` is the `BiLMPretrainer`. If it reads
        characters, the caller must set its character table from the vocabulary. `accumulators` is
        a dict that maps the paths of weights to the accumulators for `TF1Adagrad`; it is empty if
        the checkpoint has none.

    Raises:
        ValueError: If the folder has no checkpoint, if a file is missing or damaged, if an option
            is missing or invalid, or if the arrays do not match the options.

    Reference: bilm-tf, `training.py`; its `bin/restart.py` restores the same arrays.
    """
    raw = read_json(Path(folder) / "options.json")
    options = bilm_tf_options.from_json(raw, str(Path(folder) / "options.json"))
    training = bilm_tf_options.training_options(raw, str(Path(folder) / "options.json"))
    vocabulary_size = training["vocabulary_size"]
    tied = training["tied"]
    options["bidirectional"] = training.pop("bidirectional")
    options["dropout"] = training.pop("dropout")
    if options["vocabulary_size"] is not None:
        options["vocabulary_size"] = vocabulary_size
    reader, source = _open(folder)
    check_data_size(reader, source)
    shapes = {name: tuple(shape) for name, shape in reader.get_variable_to_shape_map().items()}
    rows = table(options, vocabulary_size, tied)
    slots = [row._replace(foreign=row.foreign + ADAGRAD) for row in rows]
    has_slots = any(name.endswith(ADAGRAD) for name in shapes)
    expected = rows + slots if has_slots else rows
    check_arrays(expected, shapes, source, IGNORED)

    def array(name):
        try:
            return reader.get_tensor(name)
        except UNREADABLE as error:
            raise ValueError(
                f"{source}: array {name} cannot be read ({error}). Compare the sizes of the files "
                "with those of the originals."
            ) from error

    bilm = BiLM(**{**options, **(model_changes or {})})
    model = BiLMPretrainer(bilm, **{**training, **pretrainer_options})
    read_rows(rows, array, weights_of(model), source)
    accumulators = {}
    if has_slots:
        arrays = {path: _Array(weight) for path, weight in weights_of(model).items()}
        read_rows(slots, array, arrays, source)
        accumulators = {path: array.value for path, array in arrays.items()}
        for path in set(accumulators) & {"token_encoder/characters", "token_encoder/embeddings"}:
            accumulators[path][0] = 1.0  # row of "no token", which is never updated
    return Restored(model, accumulators)


def weights_of(model: BiLMPretrainer) -> dict[str, object]:
    """Returns the trainable weights of a pretrainer by path."""
    softmax = {f"softmax/{w.path.rsplit('/', 1)[-1]}": w for w in model.softmax.trainable_weights}
    return {**bilm_tf.weights_of(model.bilm), **softmax}


def check_data_size(reader, prefix: str | os.PathLike) -> None:
    """Checks that a checkpoint's data files have all the bytes that its index claims.

    Args:
        reader: Checkpoint reader from `tf.train.load_checkpoint`.
        prefix: str or path-like. Path of the checkpoint without its file extensions. Checkpoints
            in a single file are not checked.

    Raises:
        ValueError: If the data files are too short.
    """
    prefix = Path(prefix)
    shapes = reader.get_variable_to_shape_map()
    kinds = reader.get_variable_to_dtype_map()
    claimed = sum(math.prod(shapes[name]) * kinds[name].size for name in shapes)
    there = sum(file.stat().st_size for file in prefix.parent.glob(f"{prefix.name}.data-*"))
    if Path(f"{prefix}.index").is_file() and claimed > there:
        raise ValueError(
            f"{prefix}: its index claims {claimed:,} bytes of arrays, but its data files have "
            f"{there:,} bytes and are incomplete. Compare their sizes with those of the originals."
        )


class _Array:
    """Stand-in for a weight that stores the value assigned to it."""

    def __init__(self, weight):
        self.shape = weight.shape
        self.value = None

    def assign(self, value: np.ndarray) -> None:
        self.value = np.array(value)


def _training_name(row: Row, model_options: dict) -> str:
    """Returns the name of a row's array in bilm-tf's training graph."""
    if not row.foreign.startswith("RNN_"):
        return f"lm/{row.foreign}"
    direction, _, _, cell, _, name = row.foreign.split("/")
    direction = f"{direction}/" if model_options["bidirectional"] else ""
    cell = f"multi_rnn_cell/cell_{cell.removeprefix('Cell')}/"
    cell = cell if model_options["num_layers"] > 1 else ""
    name = {"W_0": "kernel", "B": "bias", "W_P_0": "projection/kernel"}[name]
    return f"lm/{direction}rnn/{cell}lstm_cell/{name}"


def _open(folder: str | os.PathLike):
    path = _newest(Path(folder))
    try:
        return tf.train.load_checkpoint(path), path
    except UNREADABLE as error:
        message = getattr(error, "message", str(error))
        raise ValueError(
            f"{path}: the checkpoint cannot be read ({message}). Compare the sizes of the files "
            "with those of the originals."
        ) from error


def _newest(folder: Path) -> str:
    """Returns the path of the checkpoint that the file `checkpoint` names.

    The checkpoint is also found if the folder was moved. If there is no valid file `checkpoint`,
    the path of `model.ckpt` in the folder is returned.

    Raises:
        ValueError: If there is no checkpoint at that path.
    """
    try:
        state = tf.train.get_checkpoint_state(os.fspath(folder))
    except ValueError as error:
        raise ValueError(f"{folder / 'checkpoint'} cannot be read ({error}).") from error
    named = Path(state.model_checkpoint_path) if state else folder / "model.ckpt"
    for path in (named, folder / named.name):
        if any(Path(f"{path}{ending}").is_file() for ending in ("", ".index")):
            return str(path)
    found = f"no {named.name}" if state else "no valid `checkpoint`"
    raise ValueError(
        f"{folder}: expected a bilm-tf training folder with the file `checkpoint` and the files "
        f"that it names; there is {found}."
    )
