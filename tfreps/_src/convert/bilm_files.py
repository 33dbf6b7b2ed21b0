"""Finds, reads and writes the files of published biLMs and of bilm-tf training folders."""

import os
import pathlib
from typing import Any

from tfreps._src.convert.bilm_tf import write_weights
from tfreps._src.convert.bilm_tf_checkpoint import read_training_folder
from tfreps._src.models.bilm import BiLM

OPTIONS = "options.json"
WEIGHTS = "weights.hdf5"
HDF5 = ".hdf5", ".h5"
BILM_SUFFIXES = ".json", *HDF5


def read_training_bilm(folder: str | os.PathLike[str], **model_options: Any) -> BiLM:
    """Loads the `BiLM` of a bilm-tf training folder, without the softmax.

    `model_options` are options of `BiLM` that replace those in the folder.
    """
    carries = model_options.get("initial_state") == "carry"
    if carries:  # `BiLMPretrainer` does not support carried states
        model_options["initial_state"] = "zero"
    model = read_training_folder(folder, model_options).model.bilm
    if carries:
        return model.with_initial_state("carry")
    if model.initial_state == "warm":
        model.warm_up()
    return model


def write_bilm(model: BiLM, folder: str | os.PathLike[str]) -> None:
    """Writes `options.json` and `weights.hdf5`; see `BiLM.save_pretrained`."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    write_weights(model, folder / OPTIONS, folder / WEIGHTS)


def find_bilm_files(
    source: str | os.PathLike[str], weights_file: str | os.PathLike[str] | None = None
) -> tuple[pathlib.Path, pathlib.Path]:
    """Returns the paths of the options file and the weights file of a published biLM.

    `source` is an options file, HDF5 weights with one options file next to them, or a folder that
    contains exactly one options file with its weights. The weights of `options.json` are expected
    in `weights.hdf5`, and those of `X_options.json`, where X is any text, in `X_weights.hdf5`. If
    this file is missing, the only HDF5 file that does not belong to another options file is used,
    such as `model.hdf5` in the archives of the NLPL repository. A given `weights_file` is used
    instead.
    """
    source = pathlib.Path(source)
    if source.is_dir():
        source = _only_options(source, needs_weights=weights_file is None)
    elif source.suffix in HDF5 and weights_file is None:
        usual = source.with_name(source.name.removesuffix(WEIGHTS) + OPTIONS)
        return usual if usual.is_file() else _only_options(source.parent), source
    if weights_file is not None:
        return source, pathlib.Path(find_weights(source, weights_file))
    if not source.exists():
        raise ValueError(
            f"{source} does not exist. Expected the options.json of a biLM, a folder with an "
            "options.json and its HDF5 weights, or a bilm-tf training folder."
        )
    found = _weights_of(source)
    if found is None:
        others = ", ".join(path.name for path in _hdf5_files(source.parent)) or "none"
        raise ValueError(
            f"{source}: the weights were not found. Expected {WEIGHTS} next to {OPTIONS}, "
            f"X_{WEIGHTS} next to X_{OPTIONS}, or a single other HDF5 file; found {others}. Pass "
            "the path of the weights as `weights_file`."
        )
    return source, found


def find_weights(
    source: pathlib.Path, weights_file: str | os.PathLike[str]
) -> str | os.PathLike[str]:
    """Returns `weights_file`, or the path of the file with this name in the folder of a model.

    `source` is the folder or the options file in it. The file in the folder is used only if the
    path `weights_file` does not exist.
    """
    near = (source if source.is_dir() else source.parent) / weights_file
    return near if near.is_file() and not os.path.exists(weights_file) else weights_file


def is_training_folder(path: pathlib.Path) -> bool:
    """Returns True if a folder has an options.json and TF 1 checkpoints but no published weights.

    Only `weights.hdf5` and `X_weights.hdf5` count as published weights, where X is any text,
    because bilm-tf exports its checkpoints to HDF5 files with other names.
    """
    usual = map(_usual_weights, path.glob(f"*{OPTIONS}"))
    if not (path / OPTIONS).is_file() or any(weights.exists() for weights in usual if weights):
        return False
    return (path / "checkpoint").exists() or any(path.glob("model.ckpt*"))


def _weights_of(options_file: pathlib.Path) -> pathlib.Path | None:
    """Returns the path of the weights for an options file, or `None` if they are not found.

    If the usual weights file is missing, the weights are the only HDF5 file in the folder that does
    not belong to another options file.
    """
    own = _usual_weights(options_file)
    if own is not None and own.exists():
        return own
    others = {_usual_weights(path) for path in options_file.parent.glob(f"*{OPTIONS}")}
    free = [path for path in _hdf5_files(options_file.parent) if path not in others]
    return free[0] if len(free) == 1 else None


def _usual_weights(options_file: pathlib.Path) -> pathlib.Path | None:
    """Returns the path at which the weights for an options file are expected.

    It ends in `weights.hdf5` for `options.json` and in `X_weights.hdf5` for `X_options.json`. The
    result is `None` for an options file with any other name.
    """
    if not options_file.name.endswith(OPTIONS):
        return None
    return options_file.with_name(options_file.name.removesuffix(OPTIONS) + WEIGHTS)


def _hdf5_files(folder: pathlib.Path) -> list[pathlib.Path]:
    return sorted(path for path in folder.iterdir() if path.suffix in HDF5)


def _only_options(folder: pathlib.Path, needs_weights: bool = False) -> pathlib.Path:
    found = sorted(folder.glob(f"*{OPTIONS}"))
    if needs_weights and len(found) > 1:
        found = [path for path in found if _weights_of(path) is not None]
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        wanted = f"{OPTIONS} or X_{OPTIONS}"
        if needs_weights:
            wanted = f"{OPTIONS} with {WEIGHTS}, or one X_{OPTIONS} with its X_{WEIGHTS}"
        advice = "Pass the path of the options.json that you want." if found else "Check the path."
        raise ValueError(f"{folder}: expected one {wanted}; found {names}. {advice}")
    return found[0]
