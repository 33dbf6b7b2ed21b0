"""Reads aespresso's BERT with sinusoidal positions, converted to safetensors."""

import os
from pathlib import Path

from tfreps.convert.bert_checkpoint import Checkpoint
from tfreps.convert.bert_table import POSITIONS, WORDS, block_rows
from tfreps.convert.hugging_face import names_in
from tfreps.convert.safetensors_files import open_files

# Options that aespresso's code sets but its files do not state.
DEFAULTS = {
    "num_heads": 12,
    "normalization": "post",
    "activation": "gelu",
    "dropout": 0.4,
    "attention_dropout": 0.4,
    "layer_norm_epsilon": 1e-12,
    "positions": "sinusoidal_full_index",
    "normalize_positions": True,
    "max_positions": 512,
    "padding_id": 0,
    "initializer": "orthogonal_rows",
    "initializer_range": 0.02,
}
UNTOLD = ("num_heads", "normalize_positions")


def open_aespresso(path: str | os.PathLike) -> Checkpoint:
    """Opens the state dict of an aespresso model that was converted to safetensors.

    The sizes of the model follow from the shapes of the arrays. The labels of the next-sentence
    head are reversed: label 1 means that the second sentence follows the first.

    Args:
        path: str or path-like. Path of the safetensors file. The original file
            (`bert.model.epoch.N`) is a pickle, which cannot be read.

    Returns:
        `Checkpoint`.

    Raises:
        ValueError: If the file is missing or damaged, is not a safetensors file, or does not
            contain an aespresso model.

    Reference: aespresso/a_journey_into_math_of_ml, "models/bert_model.py".
    """
    path = Path(path)
    arrays = open_files([path])
    names = names_in(arrays.shapes)
    shapes = arrays.shapes
    if f"{names.stem(POSITIONS)}.weight" in shapes:
        raise ValueError(
            f"{path} has learned positions, which aespresso's models do not have. If it is a "
            "Hugging Face model, rename the file to `model.safetensors`, put its `config.json` "
            "next to it, and pass the folder."
        )
    words = names.table(WORDS, (0, 0), "").foreign
    segments = names.table("embeddings.token_type_embeddings", (0, 0), "").foreign
    wide = f"{names.stem('encoder.layer.0.intermediate.dense')}.weight"
    for name in words, segments, wide:
        if len(shapes.get(name, ())) != 2:
            raise ValueError(
                f"{path}: expected an aespresso model, in which {name} is a matrix; got "
                f"{f'the shape {shapes[name]}' if name in shapes else 'no such array'}."
            )
    vocabulary_size, units = shapes[words]
    options = {
        **DEFAULTS,
        "vocabulary_size": vocabulary_size,
        "hidden_dim": units,
        "num_layers": 1,
        "intermediate_dim": shapes[wide][0],
        "num_segments": shapes[segments][0],
    }
    while block_rows(names, options, options["num_layers"])[0].foreign in shapes:
        options["num_layers"] += 1
    return Checkpoint(str(path), {}, options, names, arrays, UNTOLD, next_label=1)
