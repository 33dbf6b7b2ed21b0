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
from tfreps._src.files.json_files import read_json
from tfreps._src.files.lfs_pointers import refuse_pointer

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
KERAS = "tf_model.h5"  # of TensorFlow models of transformers
# Errors that TensorFlow raises for damaged or foreign files.
UNREADABLE = (tf.errors.OpError, ValueError, RuntimeError, IndexError)


class Arrays(NamedTuple):
    """Arrays of a source: their shapes by name, and a function that reads one array by name."""

    shapes: Mapping[str, tuple[int, ...]]
    array: Callable[[str], np.ndarray]


def open_folder(folder: str | os.PathLike[str]) -> Arrays:
    """Opens a folder's `model.safetensors`, or the files in `model.safetensors.index.json`."""
    folder = Path(folder)
    if (folder / SINGLE).exists():
        return open_safetensors([folder / SINGLE])
    if not (folder / INDEX).exists():
        raise ValueError(_nothing_to_read(folder))
    index = read_json(folder / INDEX)
    files = index.get("weight_map")
    if not isinstance(files, dict) or not all(
        isinstance(name, str) and name == Path(name).name for name in files.values()
    ):
        raise ValueError(
            f"{folder / INDEX}: `weight_map` must be an object that maps array names to names of "
            f"files in the same folder; got {str(files)[:60]}."
        )
    found = open_safetensors([folder / name for name in sorted(set(files.values()))])
    for names, text in (
        (sorted(set(files) - set(found.shapes)), "are listed, but no file contains them"),
        (sorted(set(found.shapes) - set(files)), "are in its files, but not listed"),
    ):
        if names:
            raise ValueError(
                f"{folder / INDEX}: the arrays {', '.join(names)} {text}. Use the index that was "
                "published with these files."
            )
    return found


def open_safetensors(paths: list[Path]) -> Arrays:
    """Opens safetensors files whose headers agree with their sizes; reads only their headers."""
    files = {}
    shapes = {}
    for path in paths:
        file = _open(path)
        for name in file.keys():
            if name in files:
                raise ValueError(
                    f"{path}: array {name} is also in {files[name][0].name}. Use files that were "
                    "published together."
                )
            files[name] = (path, file)
            shapes[name] = tuple(file.get_slice(name).get_shape())

    def array(name: str) -> np.ndarray:
        path, file = files[name]
        try:
            value = file.get_tensor(name)
        except (SafetensorError, AttributeError, OSError) as error:
            raise ValueError(
                f"{path}: array {name} cannot be read ({error}). 8-bit floats are not supported; "
                "for any other type, compare the size of the file with that of the original."
            ) from error
        # Plain NumPy has no bfloat16; the conversion to float32 is exact.
        return value.astype(np.float32) if value.dtype.name == "bfloat16" else value

    return Arrays(shapes, array)


def open_tensorflow(prefix: str | os.PathLike[str]) -> Arrays:
    """Opens a TF 1 checkpoint whose data files have all the bytes that its index claims.

    `prefix` is the path without file extensions, or a checkpoint in a single file.
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
            f"{prefix}: its index claims {claimed:,} bytes of arrays, but its data files have "
            f"{there:,} bytes and are incomplete. {hint}"
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
) -> None:
    """Writes `config.json` and `model.safetensors`, each atomically; other files do not change.

    An earlier `config.json` is removed before the weights are replaced, so that an interrupted call
    never leaves weights next to the config of other weights. `arrays` is a result of
    `table.written_rows`.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / INDEX).exists():
        raise ValueError(
            f"{folder} contains the weights of another model (see {INDEX}). Choose another folder."
        )
    with replacing(folder / "config.json") as text:
        text.write_text(json.dumps(dict(config), indent=2) + "\n", encoding="utf-8")
        with replacing(folder / SINGLE) as weights:
            made = {name: np.asarray(make(), order="C") for name, make in arrays.items()}
            save_file(made, weights, metadata={"format": "pt"})  # required by transformers
            weights.chmod(text.stat().st_mode)  # safetensors makes the file private
            (folder / "config.json").unlink(missing_ok=True)


def conversion(pickles: list[Path], target: str | os.PathLike[str]) -> str:
    """Returns the error message for PyTorch pickles, with a command that converts them."""
    sources = ", ".join(f"'{path}'" for path in pickles)
    return (
        f"{pickles[0]} is a pickle, which tfreps never reads because it could run code. On a "
        "machine with PyTorch and safetensors, this command converts it:\n"
        '  python -c "import torch; from safetensors.torch import save_file; '
        f"load = lambda path: torch.load(path, map_location='cpu', weights_only=True); "
        f"save_file({{name: array.clone().contiguous() for path in [{sources}] for found in "
        "[load(path)] for name, array in found.get('model_state_dict', found).items()}, "
        f"'{target}', {{'format': 'pt'}})\""
    )


def _open(path: Path) -> Any:
    if not path.is_file():
        raise ValueError(f"{path}: expected a safetensors file; the file does not exist.")
    refuse_pointer(path)
    try:
        return safe_open(path, "numpy")
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path}: expected a safetensors file; it cannot be read ({error}). The download may "
            "be incomplete: compare its size with that of the original."
        ) from error


def _nothing_to_read(folder: Path) -> str:
    if not folder.is_dir():
        return f"{folder}: expected a folder with {SINGLE} or {INDEX}; it is not a folder."
    pickles = sorted(folder.glob("pytorch_model*.bin"))
    if pickles:
        return f"{folder}: {conversion(pickles, folder / SINGLE)}"
    if (folder / KERAS).is_file():
        return (
            f"{folder / KERAS} is a file of transformers 4, which tfreps does not read. Use the "
            f"{SINGLE} of the same model. If there is none, the following command writes it, in an "
            "environment with transformers 4 and tf-keras; replace TFBertModel with the class of "
            "the model, TF and the name in `architectures` of config.json:\n"
            '  python -c "from transformers import TFBertModel as Model; Model.from_pretrained'
            f"('{folder}').save_pretrained('{folder}', safe_serialization=True)\""
        )
    found = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
    return f"{folder}: expected {SINGLE} or {INDEX}; found {found}."
