"""Reads the arrays of safetensors files and TF 1 checkpoints, and writes safetensors files."""

import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from tfreps._src.files.atomic_files import replacing
from tfreps._src.files.lfs_pointers import refuse_pointer

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
# Errors that TensorFlow raises for damaged files and for files in other formats.
UNREADABLE = (tf.errors.OpError, ValueError, RuntimeError, IndexError)


class Arrays(NamedTuple):
    """Arrays in one or more files.

    Attributes:
        shapes: dict from the names of the arrays to their shapes.
        array: Function that takes a name and reads the array.
    """

    shapes: Mapping[str, tuple[int, ...]]
    array: Callable[[str], np.ndarray]


def open_safetensors(path: Path) -> Arrays:
    """Returns the arrays of a safetensors file; an array is read only when it is requested."""
    file = _open(path)

    def array(name: str) -> np.ndarray:
        try:
            value = file.get_tensor(name)
        except (SafetensorError, AttributeError, OSError) as error:
            raise ValueError(
                f"{path}: array {name} cannot be read ({error}). Arrays of 8-bit floats are "
                "not supported. If the array has another type, the file may be incomplete: "
                "compare its size with that of the original."
            ) from error
        # Plain NumPy has no bfloat16; the conversion to float32 is exact.
        return value.astype(np.float32) if value.dtype.name == "bfloat16" else value

    return Arrays({name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}, array)


def joined(paths: list[Path], open_one: Callable[[Path], Arrays]) -> Arrays:
    """Returns the arrays of several files as one `Arrays`.

    `open_one` takes the path of a file, and returns the `Arrays` of this file.

    Raises:
        ValueError: If two files contain an array of the same name.
    """
    places: dict[str, tuple[Path, Arrays]] = {}
    for path in paths:
        found = open_one(path)
        for name in found.shapes:
            if name in places:
                raise ValueError(
                    f"{path}: array {name} must occur in only one file, but "
                    f"{places[name][0].name} contains it too. Use files that were published "
                    "together."
                )
            places[name] = path, found
    shapes = {name: found.shapes[name] for name, (_, found) in places.items()}
    return Arrays(shapes, lambda name: places[name][1].array(name))


def open_tensorflow(prefix: str | os.PathLike[str]) -> Arrays:
    """Returns the arrays of a TF 1 checkpoint; an array is read only when it is requested.

    `prefix` is the path without file extensions, or a checkpoint in a single file.

    Raises:
        ValueError: If the checkpoint cannot be read, or the data files have fewer bytes than the
            arrays of the index require.
    """
    prefix = Path(prefix)
    index = Path(f"{prefix}.index")
    data = sorted(prefix.parent.glob(f"{prefix.name}.data-*"))
    for file in index, *data:
        if file.is_file():
            refuse_pointer(file)
    hint = "Compare the sizes of the files with those of the originals."
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
        kinds = reader.get_variable_to_dtype_map()
    except UNREADABLE as error:
        message = getattr(error, "message", str(error))
        raise ValueError(f"{prefix}: the checkpoint cannot be read ({message}). {hint}") from error
    claimed = sum(math.prod(shapes[name]) * kinds[name].size for name in shapes)
    there = sum(file.stat().st_size for file in data)
    if index.is_file() and claimed > there:
        raise ValueError(
            f"{prefix}: the index describes {claimed:,} bytes of arrays, but the data files "
            f"have only {there:,} bytes, so they are incomplete. {hint}"
        )

    def array(name: str) -> np.ndarray:
        try:
            return reader.get_tensor(name)
        except UNREADABLE as error:
            raise ValueError(f"{prefix}: array {name} cannot be read ({error}). {hint}") from error

    return Arrays({name: tuple(shape) for name, shape in shapes.items()}, array)


def write_folder(
    folder: str | os.PathLike[str],
    config: Mapping[str, Any],
    arrays: Mapping[str, Callable[[], np.ndarray]],
    config_name: str = "config.json",
    weights_name: str = SINGLE,
) -> None:
    """Writes `config.json` and `model.safetensors`, each atomically; other files do not change.

    The files have the names `config_name` and `weights_name`. An earlier config is removed before
    the weights are replaced, so that an interrupted call never leaves the weights of one model next
    to the config of another. `config` is the content of the config, and `arrays` maps the names of
    the arrays to functions that compute them.

    Raises:
        ValueError: If the folder contains an index of other weights files.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / INDEX).exists():
        raise ValueError(
            f"{folder} contains the weights of another model (see {INDEX}). Choose another folder."
        )
    with replacing(folder / config_name) as text:
        text.write_text(json.dumps(dict(config), indent=2) + "\n", encoding="utf-8")
        with replacing(folder / weights_name) as weights:
            made = {name: np.asarray(make(), order="C") for name, make in arrays.items()}
            # Transformers requires this metadata.
            save_file(made, weights, metadata={"format": "pt"})
            # Safetensors creates files that only their owner can read.
            weights.chmod(text.stat().st_mode)
            (folder / config_name).unlink(missing_ok=True)


def _open(path: Path) -> Any:
    if not path.is_file():
        raise ValueError(
            f"{path}: expected a safetensors file; the file does not exist. Check the path."
        )
    refuse_pointer(path)
    try:
        return safe_open(path, "numpy")
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path}: expected a safetensors file; the file cannot be read ({error}). The "
            "download may be incomplete: compare the size of the file with that of the "
            "original."
        ) from error
