"""Opens the arrays of a Hugging Face folder: safetensors files, or files of `torch.save`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tfreps._src.convert.array_files import INDEX, SINGLE, Arrays, joined, open_safetensors
from tfreps._src.convert.torch_files import open_torch
from tfreps._src.files.json_files import read_json

TORCH = "pytorch_model.bin"
KERAS = "tf_model.h5"  # weights of models that transformers wrote with TensorFlow
ADAPTER = "adapter_config.json"  # file of adapters (PEFT), which change the weights of a base model


class Format(NamedTuple):
    """File format for the arrays of a model.

    Attributes:
        single: str. Name of the file if all arrays are in one file.
        index: str. Name of the index that lists the files if there are several.
        open: Function that takes the path of a file and returns its `Arrays`.
    """

    single: str
    index: str
    open: Callable[[Path], Arrays]


# These names are tried in this order, as in transformers.
FORMATS = (
    Format(SINGLE, INDEX, open_safetensors),
    Format(TORCH, f"{TORCH}.index.json", open_torch),
)


def has_arrays(folder: Path) -> bool:
    """Returns True if a folder has a file of weights, an index of such files, or an adapter."""
    names = (name for each in FORMATS for name in (each.single, each.index))
    return any((folder / name).exists() for name in (*names, ADAPTER))


def open_folder(folder: str | os.PathLike[str]) -> Arrays:
    """Returns the arrays in `model.safetensors`, `pytorch_model.bin` or the files of an index.

    Raises:
        ValueError: If the folder has none of these files or has an adapter, or if a file is
            damaged.
    """
    folder = Path(folder)
    check_no_adapter(folder)
    for each in FORMATS:
        if (folder / each.single).exists():
            return each.open(folder / each.single)
        if (folder / each.index).exists():
            return _indexed(folder / each.index, each.open)
    raise ValueError(_nothing_to_read(folder))


def check_no_adapter(folder: str | os.PathLike[str]) -> None:
    """Raises a ValueError if a folder has a PEFT adapter, which would change the weights."""
    file = Path(folder, ADAPTER)
    if file.is_file():
        base = read_json(file).get("base_model_name_or_path")
        raise ValueError(
            f"{file} belongs to an adapter of PEFT, such as LoRA, which changes the weights of the "
            f"base model{f' {base}' if base else ''}. Load the base model, and call `load_adapter` "
            "of its `BertEncoder`; `tfreps.load` does both if the weights of the adapter are in "
            "safetensors, and `base_model_name_or_path` is a local path. Or call "
            "`merge_and_unload()` of peft, save the result with `save_pretrained`, and use that "
            f"folder. To use the base model alone, use a folder without {file.name}."
        )


def _indexed(path: Path, open_one: Callable[[Path], Arrays]) -> Arrays:
    """Returns the arrays of the files that the index at `path` lists.

    Raises:
        ValueError: If the index is not valid, or if it lists other arrays than the files contain.
    """
    files = read_json(path).get("weight_map")
    if not isinstance(files, dict) or not all(
        isinstance(name, str) and name == Path(name).name for name in files.values()
    ):
        raise ValueError(
            f"{path}: `weight_map` must be a JSON object that maps array names to names of "
            f"files in the same folder; got {str(files)[:60]}. Use the index that was "
            "published with the weights."
        )
    found = joined([path.parent / name for name in sorted(set(files.values()))], open_one)
    for names, text in (
        (
            sorted(set(files) - set(found.shapes)),
            "are listed in the index, but no file contains them",
        ),
        (
            sorted(set(found.shapes) - set(files)),
            "are in the files of the index, but the index does not list them",
        ),
    ):
        if names:
            raise ValueError(
                f"{path}: the arrays {', '.join(names)} {text}. Use the index that was published "
                "with these files."
            )
    return found


def _nothing_to_read(folder: Path) -> str:
    if not folder.is_dir():
        return (
            f"{folder}: expected a folder with {SINGLE} or {TORCH}; the path is not a folder. "
            "Check the path."
        )
    if (folder / KERAS).is_file():
        return (
            f"{folder / KERAS} is a file of transformers 4, which tfreps does not read. Use the "
            f"{SINGLE} of the same model. If there is none, the following command writes it, in an "
            "environment with transformers 4 and tf-keras; replace TFBertModel with the class of "
            "the model, TF and the name in `architectures` of config.json:\n"
            '  python -c "from transformers import TFBertModel as Model; Model.from_pretrained'
            f"('{folder}').save_pretrained('{folder}', safe_serialization=True)\""
        )
    names = ", ".join(name for each in FORMATS for name in (each.single, each.index))
    found = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
    return f"{folder}: expected one of {names}; found {found}. Pass a folder with weights."
