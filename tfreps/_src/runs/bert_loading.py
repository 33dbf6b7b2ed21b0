"""Loads BERT models with their tokenizers from run folders or checkpoints."""

import os
import pathlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from tfreps._src.convert.bert_checkpoint import read_encoder, read_pretrainer
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bert_pretrainer import BertPretrainer
from tfreps._src.models.copy_weights import copy_weights
from tfreps._src.models.whole_model import WholeModel
from tfreps._src.runs.locate import BERT, RUN, locate
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.runs.vocabulary_checks import check_pieces
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer
from tfreps._src.text.bert.tokenizer_files import SOURCES, checkpoint_tokenizer, read_tokenizer

COMMAND = "pretrain-bert"
EMBEDDINGS = (  # layers before the Transformer layers; an encoder may lack some of these
    "token_embedding",
    "add_positions",
    "segment_embedding",
    "embedding_norm",
    "embedding_dense",
)


class EncoderAndTokenizer(NamedTuple):
    """Pair of a `BertEncoder` and its tokenizer."""

    encoder: BertEncoder
    tokenizer: PieceTokenizer


def load_encoder(source: str | os.PathLike[str], **changes: Any) -> EncoderAndTokenizer:
    """Loads the encoder and the tokenizer of a pre-trained BERT model.

    Args:
        source: A run folder of `tfreps pretrain-bert`, a folder that `save_to_preset` wrote, or a
            checkpoint that `BertEncoder.from_pretrained` supports, with its vocabulary in the same
            folder; or the name or address of one of these.
        **changes: Options of `BertEncoder` that replace the options of the source: `num_layers`,
            `pooler=False`, `dropout`, `attention_dropout` or `dtype`.

    Returns:
        Named tuple `(encoder, tokenizer)`. All weights of the encoder are trainable.
    """
    with locate(source, RUN, *BERT) as found:
        if found.kind is not RUN:
            encoder = read_encoder(found.open(), **changes)
            return EncoderAndTokenizer(encoder, published_tokenizer(found.path, encoder))
        run = _of_command(found.open())
        encoder = changed_encoder(_encoder(run), run.path, changes)
        return EncoderAndTokenizer(encoder, run_tokenizer(run, encoder))


def load_pretrainer(
    source: str | os.PathLike[str],
    next_sentence: bool | None = None,
    next_label: int | None = None,
    **changes: Any,
) -> tuple[BertPretrainer, PieceTokenizer]:
    """Loads a `BertPretrainer`, whose pre-training can be continued, and its tokenizer.

    Args:
        source: As in `load_encoder`. The source must contain a masked-token head.
        next_sentence: bool. Whether the model has a head for next-sentence prediction. If `None`
            (the default), it has this head if the source has it.
        next_label: int. The label, 0 or 1, that the source must use if the second sentence follows
            the first. If `None` (the default), both are accepted.
        **changes: Options of `BertEncoder` that replace the options of the source.

    Returns:
        Tuple `(model, tokenizer)`.
    """
    with locate(source, RUN, *BERT) as found:
        if found.kind is RUN:
            run = _of_command(found.open())
            _check_label(next_label, run.options.get("next_label", 0), run.path)
            model = _continued(_pretrainer(run.load_model(), run), run, next_sentence, changes)
            tokenizer = run_tokenizer(run, model.encoder)
        else:
            checkpoint = found.open()
            _check_label(next_label, checkpoint.next_label, found.path)
            model = read_pretrainer(checkpoint, next_sentence, **changes)
            tokenizer = published_tokenizer(found.path, model.encoder)
    if not model.next_sentence and model.encoder.pooler_dense is not None:
        # The pooled output is not used without next-sentence prediction.
        model.encoder.pooler_dense.trainable = False
    return model, tokenizer


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


def _check_label(wanted: int | None, own: int, path: pathlib.Path) -> None:
    if wanted not in (None, own):
        raise ValueError(
            f"`next_label` must be {own}, the value that {path} was trained with; got {wanted}."
        )


def _of_command(run: RunFolder) -> RunFolder:
    """Returns the run; raises a ValueError unless `pretrain-bert` or `save_to_preset` wrote it."""
    return run if run.is_preset else run.check_command(COMMAND)


def _continued(
    old: BertPretrainer, run: RunFolder, next_sentence: bool | None, changes: Mapping[str, Any]
) -> BertPretrainer:
    """Returns a new, trainable pretrainer with the weights of `old`.

    `changes` are options of its encoder. `next_sentence` is True if the new model must have the
    next-sentence head, and `None` if it has this head if `old` has it.
    """
    if next_sentence and not old.next_sentence:
        raise ValueError(
            f"{run.path} was trained without next-sentence prediction and has no next-sentence "
            "head. Disable `next_sentence`, or choose a model that was trained with this task."
        )
    config = {**old.encoder.get_config(), **changes, "trainable": True, "frozen": []}
    has_head = old.next_sentence and next_sentence in (None, True)
    model = BertPretrainer(BertEncoder.from_config(config), has_head)
    heads = ["next_sentence_dense"] if has_head else []
    copy_weights(model, old, ["encoder", "transform", "transform_norm", "token_bias", *heads])
    return model


def _encoder(run: RunFolder) -> BertEncoder:
    """Returns the `BertEncoder` of a run of `pretrain-bert`, or of any model in a preset."""
    model = run.load_model()
    if not run.is_preset:
        return _pretrainer(model, run).encoder
    found = model.find(BertEncoder)
    if found is None or not run.tokenizer_path.is_file():
        missing = "no BERT encoder" if found is None else "no tokenizer"
        raise ValueError(
            f"{run.path} contains {missing}. Use the preset of a BERT model that was saved with "
            "its tokenizer."
        )
    return found


def _pretrainer(model: Any, run: RunFolder) -> BertPretrainer:
    """Returns the model; raises a ValueError if it is not a `BertPretrainer`."""
    if not isinstance(model, BertPretrainer):
        raise ValueError(
            f"{run.path} contains a {type(model).__name__}; expected a BertPretrainer saved by "
            f"`tfreps {COMMAND}`. Choose another run folder."
        )
    return model
