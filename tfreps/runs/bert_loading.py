"""Loads BERT models with their tokenizers from run folders or checkpoints."""

import os
import pathlib
from typing import Any, NamedTuple

from tfreps.models import BertEncoder, BertPretrainer
from tfreps.models.copy_weights import copy_weights
from tfreps.runs.run_folder import OPTIONS, RunFolder
from tfreps.text.bert import checkpoint_tokenizer, read_tokenizer
from tfreps.text.bert.tokenizer_files import SOURCES

MOST_SPARE = 1024  # maximum number of rows of the token table without a token
EMBEDDINGS = (  # layers of a `BertEncoder` before its blocks; some encoders lack some of them
    "token_embedding",
    "add_positions",
    "segment_embedding",
    "embedding_norm",
    "embedding_dense",
)


class PretrainedBert(NamedTuple):
    """Result of `load_pretrainer`: a `BertPretrainer` and a `tfreps.text.bert` tokenizer."""

    model: Any
    tokenizer: Any


class EncoderAndTokenizer(NamedTuple):
    """Result of `load_encoder`: a `BertEncoder` and a `tfreps.text.bert` tokenizer."""

    encoder: Any
    tokenizer: Any


def load_encoder(source: str | os.PathLike, **changes) -> EncoderAndTokenizer:
    """Loads the encoder of a pre-trained BERT model; all of its weights are trainable.

    Args:
        source: str or path-like. Run folder of `tfreps pretrain-bert`, folder that `save_preset`
            wrote, or checkpoint that `BertEncoder.from_pretrained` supports, with its vocabulary in
            the same folder.
        **changes: Options of `BertEncoder` that replace those of the source: `num_layers` to load
            only the first Transformer blocks, `pooler=False`, `dropout`, `attention_dropout` or
            `dtype`.

    Returns:
        `EncoderAndTokenizer`.

    Raises:
        ValueError: If the source does not exist, is a run of another program, contains no BERT
            encoder or no tokenizer, has fewer blocks than requested, lacks a requested pooler, or
            has the vocabulary of another model; also if `RunFolder.open`, `RunFolder.load_model`,
            `BertEncoder.from_pretrained`, `read_tokenizer` or `checkpoint_tokenizer` raises an
            error.
    """
    run = bert_run(source)
    path = pathlib.Path(source)
    if run is None:
        encoder = BertEncoder.from_pretrained(path, **changes)
        tokenizer = published_tokenizer(path, encoder)
    else:
        encoder = changed_encoder(_encoder(run), path, changes)
        tokenizer = run_tokenizer(run, encoder)
    return EncoderAndTokenizer(encoder, tokenizer)


def load_pretrainer(
    source: str | os.PathLike, next_sentence: bool | None = None, **changes
) -> PretrainedBert:
    """Loads a pre-trained BERT model with its heads to continue pre-training.

    Args:
        source: str or path-like. Run folder of `tfreps pretrain-bert`, folder that `save_preset`
            wrote for a `BertPretrainer`, or checkpoint that `BertPretrainer.from_pretrained`
            supports, with its vocabulary in the same folder.
        next_sentence: bool. Whether the model has the second pre-training task, next-sentence
            prediction. If `None` (the default), it has this task if the source does.
        **changes: Options of `BertEncoder` that replace those of the source and do not affect the
            weights, such as `dropout`; for a checkpoint, also those that
            `BertPretrainer.from_pretrained` supports.

    Returns:
        `PretrainedBert`.

    Raises:
        ValueError: If the source does not exist, is a run of another program, contains no
            `BertPretrainer`, has no head for next-sentence prediction although `next_sentence` is
            `True`, or has the vocabulary of another model; also if `RunFolder.open`,
            `RunFolder.load_model`, `BertPretrainer.from_pretrained`, `read_tokenizer` or
            `checkpoint_tokenizer` raises an error.
    """
    run = bert_run(source)
    path = pathlib.Path(source)
    if run is None:
        model = BertPretrainer.from_pretrained(path, next_sentence=next_sentence, **changes)
        tokenizer = published_tokenizer(path, model.encoder)
    else:
        model = _continued(run.load_model(), path, next_sentence, changes)
        tokenizer = run_tokenizer(run, model.encoder)
    if not model.next_sentence and model.encoder.pooler_dense is not None:
        model.encoder.pooler_dense.trainable = False  # its output is not used
    return PretrainedBert(model, tokenizer)


def bert_run(source: str | os.PathLike):
    """Opens a source that is a run folder of `tfreps pretrain-bert` or that `save_preset` wrote.

    Args:
        source: str or path-like. Path of the folder or of a published checkpoint.

    Returns:
        `RunFolder`, or `None` for any other path.

    Raises:
        ValueError: If the source is a run of another program, or `RunFolder.open` raises an error.
    """
    path = pathlib.Path(source)
    if not (path / OPTIONS).is_file():
        return None
    run = RunFolder.open(path)
    return run if run.is_preset else RunFolder.open(path, "pretrain-bert")


def run_tokenizer(run, encoder):
    """Reads the tokenizer of a run folder and checks it with `check_size`."""
    tokenizer = read_tokenizer(run.tokenizer_path)
    check_size(encoder, tokenizer, run.path)
    return tokenizer


def has_vocabulary(path: str | os.PathLike) -> bool:
    """Returns True if there is a tokenizer next to a published checkpoint or in its folder."""
    path = pathlib.Path(path)
    folder = path if path.is_dir() else path.parent
    return any((folder / name).is_file() for name in SOURCES)


def published_tokenizer(path: pathlib.Path, encoder):
    """Reads the tokenizer of a published checkpoint and checks it with `check_size`."""
    folder = path if path.is_dir() else path.parent
    tokenizer = checkpoint_tokenizer(folder, vocabulary_size=encoder.vocabulary_size)
    check_size(encoder, tokenizer, path)
    return tokenizer


def check_size(encoder, tokenizer, source):
    """Checks that a tokenizer's vocabulary matches an encoder's token table.

    Some table sizes were rounded up, so a vocabulary may have up to `MOST_SPARE` fewer tokens than
    the table has rows.

    Args:
        encoder: `BertEncoder`.
        tokenizer: Tokenizer of `tfreps.text.bert`.
        source: str or path-like. Name of the encoder in the error message.

    Raises:
        ValueError: If the number of tokens is greater than the number of rows, or is smaller by
            more than `MOST_SPARE`, or if the padding ids differ.
    """
    size = len(tokenizer.vocabulary)
    fits = 0 <= encoder.vocabulary_size - size <= MOST_SPARE
    if not fits or encoder.padding_id != tokenizer.padding_id:
        raise ValueError(
            f"{source} has {encoder.vocabulary_size:,} tokens and padding id {encoder.padding_id}, "
            f"but the vocabulary {tokenizer.source} has {size:,} tokens and padding id "
            f"{tokenizer.padding_id}, so it is the vocabulary of another model. Use the vocabulary "
            "that the model was trained with."
        )


def freeze_blocks(encoder, number: int) -> None:
    """Freezes the embeddings and the first blocks of a BERT encoder.

    Args:
        encoder: `BertEncoder`.
        number: int. Number of Transformer blocks to freeze. If 0, nothing is frozen, not even the
            embeddings.

    Raises:
        ValueError: If `number` is negative or greater than the number of blocks.
    """
    if not 0 <= number <= encoder.num_layers:
        raise ValueError(
            f"The number of frozen blocks must be in [0, {encoder.num_layers}]; got {number}."
        )
    if number:
        tables = (getattr(encoder, name) for name in EMBEDDINGS)
        for layer in (*tables, *encoder.blocks[:number]):
            if layer is not None:
                layer.trainable = False


def max_length(encoder, tokenizer) -> int | None:
    """Returns the maximum number of ids per text, special tokens included; `None` if unlimited."""
    positions = encoder.max_positions if encoder.positions == "learned" else None
    return least(positions, tokenizer.max_length)


def least(*lengths: int | None) -> int | None:
    """Returns the smallest of several lengths, where `None` means unlimited."""
    return min((length for length in lengths if length is not None), default=None)


def changed_encoder(old, path, changes):
    """Builds a new, trainable encoder with changed options and the weights of an old one.

    Args:
        old: `BertEncoder`.
        path: str or path-like. Name of the old encoder in error messages.
        changes: dict. Options of `BertEncoder` that replace those of the old encoder.

    Returns:
        `BertEncoder`.

    Raises:
        ValueError: If the old encoder has fewer blocks than requested or lacks a requested pooler.
    """
    if changes.get("num_layers", 1) > old.num_layers:
        raise ValueError(
            f"`num_layers` must be at most {old.num_layers}, the number of blocks of {path}; got "
            f"{changes['num_layers']}."
        )
    if changes.get("pooler") and not old.pooler:
        raise ValueError(
            f"{path} was trained without next-sentence prediction and has no pooler. Choose "
            "a pooling other than 'pooled'."
        )
    new = BertEncoder.from_config({**old.get_config(), **changes, "trainable": True, "frozen": []})
    names = (*EMBEDDINGS, "final_norm", "pooler_dense")
    parts = [name for name in names if getattr(new, name) is not None]
    copy_weights(new, old, [*parts, *(f"blocks/{number}" for number in range(new.num_layers))])
    return new


def _continued(old, path, next_sentence, changes):
    """Builds a new, trainable pretrainer with the weights of an old one."""
    old = _pretrainer(old, path)
    if next_sentence and not old.next_sentence:
        raise ValueError(
            f"{path} was trained without next-sentence prediction and has no head for it. "
            "Disable `next_sentence`, or choose a model that was trained with it."
        )
    config = {**old.encoder.get_config(), **changes, "trainable": True, "frozen": []}
    has_head = old.next_sentence and next_sentence in (None, True)
    model = BertPretrainer(BertEncoder.from_config(config), has_head)
    parts = ["encoder", "transform", "transform_norm", "token_bias"]
    if has_head:
        parts.append("next_sentence_dense")
    copy_weights(model, old, parts)
    return model


def _encoder(run):
    """Returns the encoder of a run of `tfreps pretrain-bert`, or of any model in a preset."""
    model = run.load_model()
    if not run.is_preset:
        return _pretrainer(model, run.path).encoder
    found = model.find(BertEncoder)
    if found is None or not run.tokenizer_path.is_file():
        missing = "no BERT encoder" if found is None else "no tokenizer"
        raise ValueError(
            f"{run.path} contains {missing}. Use the preset of a BERT model that was saved with "
            "its tokenizer."
        )
    return found


def _pretrainer(model, path):
    """Returns the model; raises a ValueError if it is not a `BertPretrainer`."""
    if not isinstance(model, BertPretrainer):
        raise ValueError(
            f"{path} contains a {type(model).__name__}; expected a BertPretrainer saved by `tfreps "
            "pretrain-bert`."
        )
    return model
