"""BERT encoders and pretrainers with their tokenizers, from a run folder or a checkpoint."""

import os
import pathlib
from typing import Any, NamedTuple

MOST_SPARE = 1024  # rows of a table of pieces that stand for none


class PretrainedBert(NamedTuple):
    """What `load_pretrainer` found: a `BertPretrainer` and a `tfreps.text` tokenizer."""

    model: Any
    tokenizer: Any


class EncoderAndTokenizer(NamedTuple):
    """What `load_encoder` found: a `BertEncoder` and a `tfreps.text` tokenizer."""

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

    run, path = bert_run(source), pathlib.Path(source)
    if run is None:
        encoder = BertEncoder.from_pretrained(path, **changes)
        tokenizer = published_tokenizer(path, encoder)
    else:
        encoder = changed_encoder(_pretrainer(run.load_model(), path).encoder, path, changes)
        tokenizer = run_tokenizer(run, encoder)
    return EncoderAndTokenizer(encoder, tokenizer)


def load_pretrainer(
    source: str | os.PathLike, next_sentence: bool | None = None, **changes
) -> PretrainedBert:
    """Loads a pre-trained BERT with its heads, to train it on.

    Args:
        source: a run folder of `tfreps pretrain-bert`; or a folder of Google or Hugging Face with
            its vocabulary, as `BertPretrainer.from_pretrained` reads it.
        next_sentence: whether there is the second task; None if the source has it.
        **changes: options of the `BertEncoder` in place of the source's that change no weight,
            such as `dropout`; of a checkpoint, also what its method allows.

    Raises:
        ValueError: no such folder, a run of another program or without a model, next sentences
            that the source cannot tell, a vocabulary that is not the model's; and what
            `from_pretrained` raises.
    """
    from tfreps.models import BertPretrainer

    run, path = bert_run(source), pathlib.Path(source)
    if run is None:
        model = BertPretrainer.from_pretrained(path, next_sentence=next_sentence, **changes)
        tokenizer = published_tokenizer(path, model.encoder)
    else:
        model = _continued(run.load_model(), path, next_sentence, changes)
        tokenizer = run_tokenizer(run, model.encoder)
    if not model.next_sentence and model.encoder.pooler_dense is not None:
        model.encoder.pooler_dense.trainable = False  # nothing reads it
    return PretrainedBert(model, tokenizer)


def bert_run(source: str | os.PathLike):
    """The run folder of `tfreps pretrain-bert` that a source is; None for a published checkpoint.

    Returns:
        `RunFolder`, or None.

    Raises:
        ValueError: there is nothing, or a run of another program.
    """
    from tfreps.runs.run_folder import OPTIONS, RunFolder

    path = pathlib.Path(source)
    if not path.exists() and not path.with_name(path.name + ".index").exists():
        raise ValueError(f"There is no BERT to load: {path} does not exist.")
    return RunFolder.open(path, "pretrain-bert") if (path / OPTIONS).is_file() else None


def run_tokenizer(run, encoder):
    """The tokenizer of a run folder, checked against its encoder by `check_size`."""
    from tfreps.text.bert import read_tokenizer

    tokenizer = read_tokenizer(run.tokenizer_path)
    check_size(encoder, tokenizer, run.path)
    return tokenizer


def has_vocabulary(path: str | os.PathLike) -> bool:
    """Whether there is a tokenizer beside a published checkpoint, or in its folder."""
    from tfreps.text.bert.tokenizer_files import SOURCES

    path = pathlib.Path(path)
    folder = path if path.is_dir() else path.parent
    return any((folder / name).is_file() for name in SOURCES)


def published_tokenizer(path: pathlib.Path, encoder):
    """The tokenizer of a published checkpoint, checked against its encoder by `check_size`."""
    from tfreps.text.bert import checkpoint_tokenizer

    folder = path if path.is_dir() else path.parent
    tokenizer = checkpoint_tokenizer(folder, vocabulary_size=encoder.vocabulary_size)
    check_size(encoder, tokenizer, path)
    return tokenizer


def check_size(encoder, tokenizer, source):
    """Refuses a tokenizer whose vocabulary does not belong to an encoder's table.

    Some tables were rounded up, so a vocabulary may have up to `MOST_SPARE` tokens fewer.

    Raises:
        ValueError: tokens without a row, too many rows without a token, or another padding;
            `source` says whose encoder it is.
    """
    size = len(tokenizer.vocabulary)
    fits = 0 <= encoder.vocabulary_size - size <= MOST_SPARE
    if not fits or encoder.padding_id != tokenizer.padding_id:
        raise ValueError(
            f"{source} has {encoder.vocabulary_size:,} tokens, padding being "
            f"{encoder.padding_id}; the vocabulary {tokenizer.source} has {size:,}, padding being "
            f"{tokenizer.padding_id}: that is another model's."
        )


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
    """The longest text that a BERT has positions for, and its tokenizer allows; None for any."""
    positions = encoder.max_positions if encoder.positions == "learned" else None
    return least(positions, tokenizer.max_length)


def least(*lengths: int | None) -> int | None:
    """The least of some lengths, of which None is any."""
    return min((length for length in lengths if length is not None), default=None)


def changed_encoder(old, path, changes):
    """A new encoder with the weights of an old one, those that it has use for; all are trained.

    Args:
        old: `BertEncoder`.
        path: how errors call it.
        changes: dict, options of the new one that differ: see `load_encoder`.

    Raises:
        ValueError: more blocks than there are, or a pooler that is not there.
    """
    from tfreps.models import BertEncoder
    from tfreps.models.copy_weights import copy_weights

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
    names += "final_norm", "pooler_dense"
    parts = [name for name in names if getattr(new, name) is not None]
    copy_weights(new, old, [*parts, *(f"blocks/{number}" for number in range(new.num_layers))])
    return new


def _continued(old, path, next_sentence, changes):
    """A new pretrainer with the weights of an old one, all of them trainable."""
    from tfreps.models import BertEncoder, BertPretrainer
    from tfreps.models.copy_weights import copy_weights

    old = _pretrainer(old, path)
    if next_sentence and not old.next_sentence:
        raise ValueError(
            f"{path} was trained without next sentences, and has no head for them: go on without "
            "them, or begin a new run."
        )
    config = {**old.encoder.get_config(), **changes, "trainable": True, "frozen": []}
    has_head = old.next_sentence and next_sentence in (None, True)
    model = BertPretrainer(BertEncoder.from_config(config), has_head)
    parts = ["encoder", "transform", "transform_norm", "token_bias"]
    if has_head:
        parts.append("next_sentence_dense")
    copy_weights(model, old, parts)
    return model


def _pretrainer(model, path):
    """The model itself, if it is a `BertPretrainer`."""
    from tfreps.models import BertPretrainer

    if not isinstance(model, BertPretrainer):
        raise ValueError(f"{path} holds a {type(model).__name__}; expected a BertPretrainer.")
    return model
