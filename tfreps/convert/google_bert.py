"""Opens Google's TF 1 checkpoints of BERT: `bert_config.json` and `bert_model.ckpt`."""

import os
from pathlib import Path

import numpy as np
import tensorflow as tf

from tfreps.convert import hugging_face_config
from tfreps.convert.bert_checkpoint import Checkpoint, check_vocabulary_file
from tfreps.convert.bert_table import GoogleNames
from tfreps.convert.bilm_tf_checkpoint import UNREADABLE, check_data_size
from tfreps.convert.safetensors_files import Arrays
from tfreps.files.json_files import read_json
from tfreps.files.lfs_pointers import refuse_pointer

CONFIG = "bert_config.json"
USUAL = "bert_model.ckpt"


def open_google(path: str | os.PathLike) -> Checkpoint:
    """Opens a checkpoint from Google's code; checks the sizes of its files but reads no arrays yet.

    `gelu` in a Google config means the tanh approximation. For arrays that were trained with the
    exact GELU, as in some conversions, pass `activation="gelu"` when reading the model.

    Args:
        path: str or path-like. Folder with `bert_config.json` and one checkpoint, or the
            checkpoint without its file extensions, such as `folder/bert_model.ckpt`.

    Returns:
        `Checkpoint`.

    Raises:
        ValueError: If a file is missing or damaged, if the folder has several checkpoints and none
            of them is named `bert_model.ckpt`, or if the config describes an unsupported network.

    Reference: google-research/bert, "modeling.py".
    """
    prefix = _prefix(Path(path))
    config_file = prefix.parent / CONFIG
    if not config_file.is_file():
        raise ValueError(
            f"{prefix}: expected {CONFIG} next to the checkpoint; there is none. Add the original "
            "file: no other file states the number of attention heads."
        )
    config = read_json(config_file)
    options = hugging_face_config.encoder_options(config, str(config_file))
    if options["activation"] == "gelu":
        options["activation"] = "gelu_tanh"
    checkpoint = Checkpoint(str(prefix), config, options, GoogleNames(), _arrays(prefix))
    check_vocabulary_file(prefix.parent, checkpoint)
    return checkpoint


def _arrays(prefix: Path) -> Arrays:
    data = sorted(prefix.parent.glob(f"{prefix.name}.data-*"))
    for file in [Path(f"{prefix}.index"), *data]:
        refuse_pointer(file)
    try:
        reader = tf.train.load_checkpoint(str(prefix))
        shapes = reader.get_variable_to_shape_map()
    except UNREADABLE as error:
        message = getattr(error, "message", str(error))
        raise ValueError(
            f"{prefix}: the checkpoint cannot be read ({message}). Compare the sizes of the files "
            "with those of the originals."
        ) from error
    shapes = {name: tuple(shape) for name, shape in shapes.items()}
    check_data_size(reader, prefix)

    def array(name: str) -> np.ndarray:
        try:
            return reader.get_tensor(name)
        except UNREADABLE as error:
            raise ValueError(
                f"{prefix}: array {name} cannot be read ({error}). Compare the sizes of the files "
                "with those of the originals."
            ) from error

    return Arrays(shapes, array)


def _prefix(path: Path) -> Path:
    """Returns the path of the checkpoint without its file extensions."""
    if not path.is_dir():
        return path.with_suffix("") if path.suffix == ".index" else path
    found = sorted(file.with_suffix("") for file in path.glob("*.index"))
    if len(found) == 1 or path / USUAL in found:
        return path / USUAL if path / USUAL in found else found[0]
    names = ", ".join(file.name for file in found) or "none"
    advice = "Pass the path of one of them." if found else "Check the path."
    raise ValueError(f"{path}: expected one checkpoint (*.index); found {names}. {advice}")
