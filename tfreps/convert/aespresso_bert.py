"""Reads aespresso's `bert.model.epoch.N`, once it is safetensors: BERT with sinusoids."""

import os
from pathlib import Path

from tfreps.convert.bert_checkpoint import Checkpoint
from tfreps.convert.bert_table import POSITIONS, WORDS, block_rows
from tfreps.convert.hugging_face import names_in
from tfreps.convert.safetensors_files import open_files

# What aespresso's code sets and its files do not tell.
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


def open_checkpoint(path: str | os.PathLike) -> Checkpoint:
    """Opens a state dict of aespresso's code, whose arrays decide the sizes.

    Its second task is the other way round: label 1 there is the next sentence.

    Args:
        path: a safetensors file. The original is a pickle, which is not read.

    Raises:
        ValueError: for a file that is torn, no safetensors, or holds other arrays.

    Reference: aespresso/a_journey_into_math_of_ml, "models/bert_model.py".
    """
    path = Path(path)
    arrays = open_files([path])
    names = names_in(arrays.shapes)
    shapes = arrays.shapes
    if f"{names.stem(POSITIONS)}.weight" in shapes:
        raise ValueError(
            f"{path} has learned positions, which aespresso's models have not: it needs a "
            "`config.json` next to it and the name `model.safetensors`. Then name the folder."
        )
    words = names.table(WORDS, (0, 0), "").foreign
    segments = names.table("embeddings.token_type_embeddings", (0, 0), "").foreign
    wide = f"{names.stem('encoder.layer.0.intermediate.dense')}.weight"
    for name in words, segments, wide:
        if len(shapes.get(name, ())) != 2:
            raise ValueError(
                f"{path}: expected a model of aespresso, with a matrix {name}; got "
                f"{shapes.get(name, 'none')}."
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
