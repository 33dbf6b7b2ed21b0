"""Reads and writes safetensors files, one or several with an index; never reads pickles."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from tfreps.files.atomic_files import replacing
from tfreps.files.json_files import read_json
from tfreps.files.lfs_pointers import refuse_pointer

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"


class Arrays(NamedTuple):
    """The arrays of a source: their shapes by name, and a function that reads one by its name."""

    shapes: Mapping[str, tuple[int, ...]]
    array: Callable[[str], np.ndarray]


def open_folder(folder: str | os.PathLike) -> Arrays:
    """Opens `model.safetensors`, or the files that its index names.

    Raises:
        ValueError: for a folder without them, and files that are torn or no safetensors.
    """
    folder = Path(folder)
    if (folder / SINGLE).exists():
        return open_files([folder / SINGLE])
    if not (folder / INDEX).exists():
        raise ValueError(_nothing_to_read(folder))
    index = read_json(folder / INDEX)
    places = index.get("weight_map")
    if not isinstance(places, dict) or not all(
        isinstance(name, str) and name == Path(name).name for name in places.values()
    ):
        raise ValueError(
            f"{folder / INDEX}: expected `weight_map`, an object of arrays and names of files in "
            "the same folder."
        )
    found = open_files([folder / name for name in sorted(set(places.values()))])
    for names, text in (
        (sorted(set(places) - set(found.shapes)), "are named there, but in none of its files"),
        (sorted(set(found.shapes) - set(places)), "are in its files, but not named there"),
    ):
        if names:
            raise ValueError(f"{folder / INDEX}: the arrays {', '.join(names)} {text}.")
    return found


def open_files(paths: list[Path]) -> Arrays:
    """Opens some safetensors files; reads only their headers.

    A header that claims more than the file holds is refused before any memory is taken.

    Raises:
        ValueError: for files that are missing, torn, no safetensors, or hold an array twice.
    """
    files = {}
    shapes = {}
    for path in paths:
        file = _open(path)
        for name in file.keys():
            if name in files:
                raise ValueError(f"{path}: array {name} is in another file as well.")
            files[name] = (path, file)
            shapes[name] = tuple(file.get_slice(name).get_shape())

    def array(name: str) -> np.ndarray:
        path, file = files[name]
        try:
            value = file.get_tensor(name)
        except (SafetensorError, AttributeError, OSError) as error:
            raise ValueError(f"{path}: array {name} cannot be read ({error}).") from error
        # NumPy knows no bfloat16, which is the upper half of a float32.
        return value.astype(np.float32) if value.dtype.name == "bfloat16" else value

    return Arrays(shapes, array)


def write_folder(folder: str | os.PathLike, config: dict, arrays: Mapping[str, Callable]) -> None:
    """Writes `config.json` and `model.safetensors`, each whole or not at all.

    An earlier `config.json` goes first: no kill leaves the config of other weights next to them.

    Args:
        folder: is made if it is not there. Other files in it are left alone.
        config: what goes into `config.json`.
        arrays: name and what makes the array, as `table.written_rows` gives them.

    Raises:
        ValueError: for a folder with weights in several files, which would be read instead.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / INDEX).exists():
        raise ValueError(
            f"{folder} holds the weights of another model, by {INDEX}: choose another folder."
        )
    with replacing(folder / "config.json") as text:
        text.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        with replacing(folder / SINGLE) as weights:
            made = {name: np.ascontiguousarray(make()) for name, make in arrays.items()}
            save_file(made, weights, metadata={"format": "pt"})  # without it transformers refuses
            weights.chmod(text.stat().st_mode)  # safetensors leaves it private
            (folder / "config.json").unlink(missing_ok=True)


def conversion(pickles: list[Path], target: str | os.PathLike) -> str:
    """Writes the error for PyTorch's pickles, with the command that makes safetensors of them."""
    sources = ", ".join(f"'{path}'" for path in pickles)
    return (
        f"{pickles[0]} is a pickle, which is never read here: it could run code. One command, "
        "where PyTorch and safetensors are installed, converts it:\n"
        '  python -c "import torch; from safetensors.torch import save_file; '
        f"load = lambda path: torch.load(path, map_location='cpu', weights_only=True); "
        f"save_file({{name: array.clone().contiguous() for path in [{sources}] for found in "
        "[load(path)] for name, array in found.get('model_state_dict', found).items()}, "
        f"'{target}', {{'format': 'pt'}})\""
    )


def _open(path: Path):
    if not path.is_file():
        raise ValueError(f"{path}: expected a safetensors file; there is no such file.")
    refuse_pointer(path)
    try:
        return safe_open(path, "numpy")
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path}: expected a safetensors file; it cannot be read as one ({error}). It may be "
            "a download that was cut short: compare its size with the original's."
        ) from error


def _nothing_to_read(folder: Path) -> str:
    pickles = sorted(folder.glob("pytorch_model*.bin"))
    if pickles:
        return f"{folder}: {conversion(pickles, folder / SINGLE)}"
    found = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
    return f"{folder}: expected {SINGLE} or {INDEX}; found {found}."
