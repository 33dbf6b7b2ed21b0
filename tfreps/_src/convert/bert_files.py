"""Opens BERT checkpoints in the formats of Google, Hugging Face and aespresso."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tfreps._src.convert import hugging_face_config
from tfreps._src.convert.array_files import (
    SINGLE,
    Arrays,
    open_safetensors,
    open_tensorflow,
)
from tfreps._src.convert.array_folders import TORCH, check_no_adapter, open_folder
from tfreps._src.convert.bert_checkpoint import Checkpoint
from tfreps._src.convert.bert_families import BERT, Family, family_in
from tfreps._src.convert.bert_table import (
    LABELS,
    POSITIONS,
    WORDS,
    GoogleNames,
    HuggingFaceNames,
    block_rows,
)
from tfreps._src.convert.torch_files import open_torch
from tfreps._src.files.json_files import read_json

GOOGLE_CONFIG = "bert_config.json"
USUAL = "bert_model.ckpt"
# Last part of an array name in a TensorFlow model of transformers: the last part in PyTorch.
_PYTORCH = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}
# Options that aespresso's code sets but its files do not state.
AESPRESSO = {
    "num_heads": 12,
    "normalize_first": False,
    "activation": "gelu",
    "dropout": 0.4,
    "attention_dropout": 0.4,
    "layer_norm_epsilon": 1e-12,
    "positions": "sinusoidal_full_index",
    "normalize_positions": True,
    "max_sequence_length": 512,
    "padding_id": 0,
    "embeddings_initializer": "orthogonal_rows",
}
UNSPECIFIED = ("num_heads", "normalize_positions")


def open_google(path: str | os.PathLike[str]) -> Checkpoint:
    """Opens a checkpoint of Google's BERT code; checks the sizes of its files but reads no arrays.

    `path` is a folder with `bert_config.json` and one checkpoint, or the checkpoint with or without
    `.index`. `gelu` in a Google config means the tanh approximation. For arrays that were trained
    with the exact GELU, as in some conversions, pass `activation="gelu"` when reading the model.

    Reference: google-research/bert, "modeling.py".
    """
    prefix = _prefix(Path(path))
    config_file = prefix.parent / GOOGLE_CONFIG
    if not config_file.is_file():
        raise ValueError(
            f"{prefix}: expected {GOOGLE_CONFIG} next to the checkpoint; there is none. Add the "
            "original file: no other file states the number of attention heads."
        )
    config = read_json(config_file)
    options = hugging_face_config.encoder_options(config, str(config_file))
    if options["activation"] == "gelu":
        options["activation"] = "gelu_tanh"
    arrays = open_tensorflow(prefix)
    return _checked(Checkpoint(str(prefix), config, options, GoogleNames(), arrays), prefix.parent)


def open_hugging_face(folder: str | os.PathLike[str]) -> Checkpoint:
    """Opens a Hugging Face folder; checks the config and the file headers but reads no arrays.

    The folder contains `config.json` and one of `model.safetensors`, `model.safetensors.index.json`
    with the files that it lists, `pytorch_model.bin`, or `pytorch_model.bin.index.json` with its
    files. The arrays may have the names of PyTorch or TensorFlow models.

    Reference: transformers, "models/bert/modeling_bert.py",
    "models/distilbert/modeling_distilbert.py" and "models/electra/modeling_electra.py".
    """
    check_no_adapter(folder)
    config_file = Path(folder) / "config.json"
    if not config_file.is_file():
        raise ValueError(
            f"{folder}: expected config.json next to the weights; there is none. Add the original "
            "file: no other file states the number of attention heads or the variant of GELU."
        )
    config = read_json(config_file)
    options = hugging_face_config.encoder_options(config, str(config_file))
    family = family_in(config, str(config_file))
    arrays = open_folder(folder)
    if any("/" in name for name in arrays.shapes):
        arrays = _of_pytorch(arrays)
    names = names_in(arrays.shapes, family)
    return _checked(Checkpoint(str(folder), config, options, names, arrays), Path(folder))


def open_aespresso(path: str | os.PathLike[str]) -> Checkpoint:
    """Opens the state dict of an aespresso model in a file of `torch.save` or a safetensors file.

    The sizes of the model follow from the shapes of the arrays. The labels of the next-sentence
    head are reversed: label 1 means that the second sentence follows the first.

    Reference: aespresso/a_journey_into_math_of_ml, "models/bert_model.py".
    """
    path = Path(path)
    arrays = (open_safetensors if path.suffix == ".safetensors" else open_torch)(path)
    names = names_in(arrays.shapes)
    shapes = arrays.shapes
    if f"{names.stem(POSITIONS)}.weight" in shapes:
        raise ValueError(
            f"{path} contains a table of position embeddings, which aespresso's models do not "
            "have. If this is a Hugging Face model, put its `config.json` in the same folder, "
            f"rename the weights to `{SINGLE}`, or to `{TORCH}` if `torch.save` wrote them, "
            "and pass the folder."
        )
    words = names.table(WORDS, (0, 0), "").foreign
    segments = names.table("embeddings.token_type_embeddings", (0, 0), "").foreign
    wide = f"{names.stem('encoder.layer.0.intermediate.dense')}.weight"
    for name in words, segments, wide:
        if len(shapes.get(name, ())) != 2:
            raise ValueError(
                f"{path}: expected an aespresso model, in which {name} is a matrix; got "
                f"{f'the shape {shapes[name]}' if name in shapes else 'no array of this name'}. "
                "Pass the weights file of such a model."
            )
    vocabulary_size, units = shapes[words]
    options = {
        **AESPRESSO,
        "vocabulary_size": vocabulary_size,
        "hidden_dim": units,
        "num_layers": 1,
        "intermediate_dim": shapes[wide][0],
        "num_segments": shapes[segments][0],
    }
    while block_rows(names, options, options["num_layers"])[0].foreign in shapes:
        options["num_layers"] += 1
    return Checkpoint(str(path), {}, options, names, arrays, UNSPECIFIED, next_label=1)


def names_in(shapes: Mapping[str, tuple[int, ...]], family: Family = BERT) -> HuggingFaceNames:
    """Returns the naming scheme of arrays: the prefix, and the names of norms and heads.

    `shapes` maps the names of the arrays to their shapes.
    """
    prefix = f"{family.model_type}."
    prefix = prefix if any(name.startswith(prefix) for name in shapes) else ""
    early = f"{prefix}embeddings.LayerNorm.gamma" in shapes
    norm = ("gamma", "beta") if early else ("weight", "bias")
    biases = family.token_biases[::-1]
    bias = next((name for name in biases if name in shapes), biases[0])
    labels = family.label_head if f"{family.label_head}.weight" in shapes else LABELS
    return HuggingFaceNames(prefix, norm, bias, family, labels)


def pytorch_name(name: str) -> str:
    """Returns the PyTorch name of an array that has the name `name` in a TensorFlow model.

    In a TensorFlow model of transformers, `_._` precedes the number of a layer, and `___` follows
    the name of a Keras layer that PyTorch models do not have.
    """
    *path, last = name.removesuffix(":0").split("/")
    path = [part.rpartition("___")[2].replace("_._", ".") for part in path]
    return ".".join([*path, _PYTORCH.get(last, last)])


def _of_pytorch(arrays: Arrays) -> Arrays:
    """Returns the arrays of a TensorFlow model with PyTorch's names and transposed kernels."""
    names = {pytorch_name(name): name for name in arrays.shapes}
    kernels = {ours for ours, name in names.items() if name.removesuffix(":0").endswith("/kernel")}

    def array(name: str) -> np.ndarray:
        value = arrays.array(names[name])
        return value.T if name in kernels else value

    shapes = {
        ours: arrays.shapes[name][:: -1 if ours in kernels else 1] for ours, name in names.items()
    }
    return Arrays(shapes, array)


def _checked(checkpoint: Checkpoint, folder: Path) -> Checkpoint:
    """Returns the checkpoint; raises a ValueError if vocab.txt is longer than the token table.

    A vocab.txt with fewer tokens is accepted: some tables have unused last rows, because their
    sizes were rounded up. The file may also be missing.
    """
    path = folder / "vocab.txt"
    if path.is_file():
        lines = path.read_bytes().split(b"\n")
        count = len(lines) - (not lines[-1])
        size = checkpoint.options["vocabulary_size"]
        if count > size:
            raise ValueError(
                f"{path} has {count:,} tokens, but the token table of {checkpoint.source} has "
                f"{size:,} rows, so the vocabulary belongs to another model. Restore the "
                "original file."
            )
    return checkpoint


def _prefix(path: Path) -> Path:
    """Returns the path of a checkpoint without file extensions.

    `path` is a checkpoint or a folder. From a folder, `bert_model.ckpt` is used or, if there is no
    such checkpoint, the only one. A ValueError is raised if a folder has no checkpoint, or several
    checkpoints but no `bert_model.ckpt`.
    """
    if not path.is_dir():
        return path.with_suffix("") if path.suffix == ".index" else path
    found = sorted(file.with_suffix("") for file in path.glob("*.index"))
    if len(found) == 1 or path / USUAL in found:
        return path / USUAL if path / USUAL in found else found[0]
    names = ", ".join(file.name for file in found) or "none"
    advice = "Pass the path of one of them." if found else "Check the path."
    raise ValueError(f"{path}: expected one checkpoint (*.index); found {names}. {advice}")
