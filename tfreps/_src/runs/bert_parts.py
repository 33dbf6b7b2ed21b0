"""Encoders and tokenizers inside BERT models of run folders and checkpoints."""

import os
import pathlib
from collections.abc import Mapping
from typing import Any

from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.copy_weights import copy_weights
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.runs.vocabulary_checks import check_pieces
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer
from tfreps._src.text.bert.tokenizer_files import SOURCES, checkpoint_tokenizer, read_tokenizer

EMBEDDINGS = (  # layers before the Transformer layers; an encoder may lack some of these
    "token_embedding",
    "add_positions",
    "segment_embedding",
    "embedding_norm",
    "embedding_dense",
)


def encoder_of(model: WholeModel, path: pathlib.Path) -> BertEncoder:
    """Returns the `BertEncoder` inside a model; raises a ValueError if there is none."""
    found = model.find(BertEncoder)
    if found is None:
        raise ValueError(
            f"{path} has a tokenizer, but its model contains no BertEncoder. Put the original "
            "files back."
        )
    return found


def run_tokenizer(run: RunFolder, encoder: BertEncoder) -> PieceTokenizer:
    """Reads the tokenizer of a run folder, and checks that its vocabulary fits the encoder."""
    tokenizer = read_tokenizer(run.tokenizer_path)
    check_pieces(encoder, tokenizer, run.path)
    return tokenizer


def has_vocabulary(path: pathlib.Path) -> bool:
    """Returns True if a published checkpoint has a vocabulary or tokenizer in its folder."""
    return any((_folder_of(path) / name).is_file() for name in SOURCES)


def published_tokenizer(path: pathlib.Path, encoder: BertEncoder) -> PieceTokenizer:
    """Reads the tokenizer of a published checkpoint, and checks that it fits the encoder."""
    tokenizer = checkpoint_tokenizer(_folder_of(path), vocabulary_size=encoder.vocabulary_size)
    check_pieces(encoder, tokenizer, path)
    return tokenizer


def freeze_layers(encoder: BertEncoder, number: int) -> None:
    """Freezes the embeddings and the first `number` layers of an encoder.

    If `number` is 0, nothing is frozen.
    """
    if not 0 <= number <= encoder.num_layers:
        raise ValueError(
            f"The number of frozen layers must be in [0, {encoder.num_layers}]; got {number}."
        )
    if number:
        tables = (getattr(encoder, name) for name in EMBEDDINGS)
        for layer in (*tables, *encoder.blocks[:number]):
            if layer is not None:
                layer.trainable = False


def max_length(encoder: BertEncoder, tokenizer: PieceTokenizer) -> int | None:
    """Returns the maximum number of ids per text, special tokens included; `None` if unlimited."""
    positions = encoder.max_sequence_length if encoder.positions == "learned" else None
    return least(positions, tokenizer.max_length)


def least(*lengths: int | None) -> int | None:
    """Returns the smallest of several maximum lengths, each of which is `None` if unlimited."""
    return min((length for length in lengths if length is not None), default=None)


def changed_encoder(
    old: BertEncoder, path: str | os.PathLike[str], changes: Mapping[str, Any]
) -> BertEncoder:
    """Returns a new, trainable encoder with the weights of `old` and the options `changes`.

    `path` is the name of the old encoder in error messages. A ValueError is raised if `changes`
    requires layers that the old encoder does not have.
    """
    if changes.get("num_layers", 1) > old.num_layers:
        raise ValueError(
            f"`num_layers` must be at most {old.num_layers}, the number of layers of {path}; got "
            f"{changes['num_layers']}."
        )
    if changes.get("pooler") and not old.pooler:
        raise ValueError(
            f"{path} was trained without next-sentence prediction and has no pooler. Choose "
            "a pooling other than 'pooled_output'."
        )
    new = BertEncoder.from_config({**old.get_config(), **changes, "trainable": True, "frozen": []})
    names = (*EMBEDDINGS, "final_norm", "pooler_dense")
    parts = [name for name in names if getattr(new, name) is not None]
    copy_weights(new, old, [*parts, *(f"blocks/{number}" for number in range(new.num_layers))])
    return new


def _folder_of(path: pathlib.Path) -> pathlib.Path:
    return path if path.is_dir() else path.parent
