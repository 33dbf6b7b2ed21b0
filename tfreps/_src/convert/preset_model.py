"""Writes and reads models of every class as config.json and model.safetensors."""

import os
import pathlib
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from tfreps import __version__
from tfreps._src.convert import array_files, hugging_face
from tfreps._src.convert.array_folders import open_folder
from tfreps._src.convert.table import Row, check_arrays, check_no_adapters, read_rows
from tfreps._src.files.json_files import read_json

CONFIG = "config.json"
KEY = "tfreps"  # key of config.json that other libraries ignore
BOUND = 1 << 16  # integers of a config up to this bound are accepted for every model


def write_preset_model(model: Any, folder: str | os.PathLike[str], next_label: int = 0) -> None:
    """Writes the config and the weights of a built model for `read_preset_model`.

    If the BERT classes of transformers can represent a model, it is stored with the keys and names
    of transformers, which can then load it too. The weights of any other model are stored under
    their Keras paths. `next_label` is the label of a `BertPretrainer`'s next-sentence head that
    means that the second sentence follows the first.
    """
    if not model.built:
        raise ValueError(
            f"{model.name!r} has no weights yet. Call the model on a batch before you save it."
        )
    about = {
        "version": __version__,
        "keras": keras.__version__,
        "next_label": next_label,
        "model": keras.saving.serialize_keras_object(model),
    }
    if is_hugging_face(model):
        hugging_face.write_model(model, folder, next_label, {KEY: about})
        return
    arrays = {path: lambda w=weight: np.asarray(w) for path, weight in _weights(model).items()}
    array_files.write_folder(folder, {KEY: about}, arrays)


def read_preset_model(folder: str | os.PathLike[str]) -> Any:
    """Returns the model that `write_preset_model` wrote, without running code from the files.

    Raises:
        ValueError: If a file is missing or damaged, or was not written by `write_preset_model`.
    """
    file = pathlib.Path(folder, CONFIG)
    config = read_json(file)
    about = config.get(KEY)
    if not isinstance(about, dict) or not isinstance(about.get("model"), dict):
        raise ValueError(
            f"{file} was not written by `save_to_preset`, because the key `{KEY}.model` is "
            "missing or is not a JSON object. Pass a folder that `save_to_preset` wrote."
        )
    arrays = open_folder(folder)
    elements = sum(int(np.prod(shape)) for shape in arrays.shapes.values())
    _check_sizes(about["model"], max(elements, BOUND), file)
    try:
        model = keras.saving.deserialize_keras_object(about["model"], safe_mode=True)
    except Exception as error:  # Keras raises different errors for wrong configs
        raise ValueError(
            f"{file} does not describe a model that this version of tfreps can build "
            f"({type(error).__name__}: {' '.join(str(error).split())[:300]}). The file was written "
            f"by tfreps {about.get('version')} with Keras {about.get('keras')}. Install these "
            "versions, or use the original file."
        ) from error
    if not isinstance(model, keras.Model) or not model.built:
        raise ValueError(
            f"{file} must describe a Keras model that has been built; got a "
            f"{type(model).__name__}. Save the model again with `save_to_preset`."
        )
    if "architectures" in config:
        hugging_face.read_into(model, folder, about.get("next_label", 0))
    else:
        _read_weights(model, arrays, str(folder))
    return model


def is_hugging_face(model: Any) -> bool:
    """Returns True if the BERT classes of transformers can represent a model."""
    try:
        hugging_face.layout(model)
    except ValueError:
        return False
    return True


def _read_weights(model: keras.Model, arrays: array_files.Arrays, source: str) -> None:
    weights = _weights(model)
    rows = [Row(path, tuple(weight.shape), path) for path, weight in weights.items()]
    check_arrays(rows, arrays.shapes, source)
    floats = {path: w for path, w in weights.items() if "float" in str(w.dtype)}
    read_rows([row for row in rows if row.ours in floats], arrays.array, floats, source)
    for path in set(weights) - set(floats):
        array = arrays.array(path)
        if array.dtype.name != str(weights[path].dtype):
            raise ValueError(
                f"{source}: array {path} must have the type {weights[path].dtype}; got "
                f"{array.dtype}. Use the weights that were saved with this config."
            )
        weights[path].assign(array)


def _weights(model: keras.Model) -> dict[str, keras.Variable]:
    """Returns a dict from paths to the weights of a model.

    Raises:
        ValueError: If the model has LoRA adapters, or two weights have the same path.
    """
    check_no_adapters(weight.path for weight in model.weights)
    found: dict[str, keras.Variable] = {}
    for weight in model.weights:
        if weight.path in found:
            raise ValueError(
                f"Two weights have the path {weight.path!r}. Give the parts of the model different "
                "names."
            )
        found[weight.path] = weight
    return found


def _check_sizes(value: Any, most: int, file: pathlib.Path, name: str = "model") -> None:
    """Raises a ValueError if an integer of a config is too large for the weights in the file.

    `most` is the largest accepted integer: the number of elements of all weights, or `BOUND` if it
    is larger. This check runs before any weight is created, so that a wrong config cannot cause a
    large allocation of memory. Seeds are not checked.
    """
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if "seed" not in str(key):
                _check_sizes(inner, most, file, str(key))
    elif isinstance(value, list):
        for inner in value:
            _check_sizes(inner, most, file, name)
    elif isinstance(value, int) and abs(value) > most:
        raise ValueError(
            f"{file}: `{name}` must be at most {most} for the weights in the folder; "
            f"got {value}. Either the file is damaged, or the files do not belong together. "
            "Copy them again from the original."
        )
