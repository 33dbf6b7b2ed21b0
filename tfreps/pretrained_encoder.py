"""load_encoder: a BertEncoder and its tokeniser to build on, from a run folder or a checkpoint."""

import os
from typing import Any, NamedTuple

from tfreps.pretrained_bert import open_bert


class EncoderAndTokenizer(NamedTuple):
    """What `load_encoder` found: a `BertEncoder` and a `tfreps.text` tokeniser."""

    encoder: Any
    tokenizer: Any


def load_encoder(source: str | os.PathLike, **changes) -> EncoderAndTokenizer:
    """Loads the encoder of a pre-trained BERT, without its heads, all of it trainable.

    Args:
        source: a run folder of `tfreps pretrain-bert`; or a folder of Google or Hugging Face with
            its vocabulary, as `BertEncoder.from_pretrained` reads it.
        **changes: options of `BertEncoder` in place of the source's: `num_layers` for the first
            blocks alone, `pooler=False`, `dropout`, `attention_dropout`, `dtype`.

    Raises:
        ValueError: no such folder, a run of another program or without a model, more blocks than
            there are, a pooler that is not there, a vocabulary that is not the model's; and what
            `from_pretrained` raises.
    """
    from tfreps.models import BertEncoder

    encoder, tokenizer = open_bert(
        source,
        lambda model, path: _with_changes(model.encoder, path, changes),
        lambda path: BertEncoder.from_pretrained(path, **changes),
    )
    return EncoderAndTokenizer(encoder, tokenizer)


def freeze_blocks(encoder, number: int) -> None:
    """Keeps the tables and the first blocks of a BERT from being trained; 0 keeps nothing.

    Raises:
        ValueError: it has not so many blocks.
    """
    if not 0 <= number <= encoder.num_layers:
        raise ValueError(
            f"There are {encoder.num_layers} blocks, of which {number} cannot be frozen."
        )
    if number:
        tables = encoder.token_embedding, encoder.add_positions, encoder.segment_embedding
        for layer in (*tables, encoder.embedding_norm, *encoder.blocks[:number]):
            layer.trainable = False


def max_length(encoder, tokenizer) -> int | None:
    """The longest text that a BERT has positions for, and its tokeniser allows; None for any."""
    positions = encoder.max_positions if encoder.positions == "learned" else None
    return least(positions, tokenizer.max_length)


def least(*lengths: int | None) -> int | None:
    """The least of some lengths, of which None is any."""
    return min((length for length in lengths if length is not None), default=None)


def _with_changes(old, path, changes):
    """A new encoder with the weights of an old one, those that it has use for."""
    from tfreps.models import BertEncoder

    if changes.get("num_layers", 1) > old.num_layers:
        raise ValueError(
            f"{path} has {old.num_layers} blocks; got {changes['num_layers']} to build."
        )
    if changes.get("pooler") and not old.pooler:
        raise ValueError(
            f"{path} was trained without next sentences and has no pooler: choose another pooling."
        )
    new = BertEncoder.from_config({**old.get_config(), **changes, "trainable": True, "frozen": []})
    names = "token_embedding", "add_positions", "segment_embedding", "embedding_norm"
    pairs = [(getattr(new, name), getattr(old, name)) for name in names]
    pairs += zip(new.blocks, old.blocks, strict=False)
    pairs += [(new.final_norm, old.final_norm), (new.pooler_dense, old.pooler_dense)]
    for ours, theirs in pairs:
        if ours is not None:
            for weight, value in zip(ours.weights, theirs.weights, strict=True):
                weight.assign(value)
    return new
