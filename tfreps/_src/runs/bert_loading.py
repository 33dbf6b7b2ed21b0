"""Loads BERT models with their tokenizers from run folders or checkpoints."""

import os
import pathlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from tfreps._src.convert.bert_checkpoint import read_pretrainer
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bert_pretrainer import BertPretrainer
from tfreps._src.models.copy_weights import copy_weights
from tfreps._src.runs.bert_parts import changed_encoder, published_tokenizer, run_tokenizer
from tfreps._src.runs.kinds import RUN, kinds_of, locate
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer

COMMAND = "pretrain-bert"


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
    with locate(source, RUN, *kinds_of(BertEncoder)) as found:
        if found.kind is not RUN:
            encoder = found.read(BertEncoder, **changes)
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
    with locate(source, RUN, *kinds_of(BertEncoder)) as found:
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
