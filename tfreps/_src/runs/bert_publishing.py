"""Converts BERT models with a head between run folders and published folders."""

import os
from collections.abc import Mapping
from typing import Any

from tfreps._src.convert.hugging_face import write_model
from tfreps._src.convert.model_cards import write_model_card
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bert_pretrainer import BertPretrainer
from tfreps._src.models.classifier import Classifier
from tfreps._src.models.copy_weights import copy_weights
from tfreps._src.models.piece_encoder import PieceEncoder
from tfreps._src.models.tagger import Tagger
from tfreps._src.runs.bert_parts import least, max_length
from tfreps._src.runs.model_files import asset_writers
from tfreps._src.runs.run_card import run_card
from tfreps._src.runs.run_folder import RunFolder
from tfreps._src.text.bert.piece_tokenizer import PieceTokenizer
from tfreps._src.text.bert.tokenizer_files import read_tokenizer, write_checkpoint_tokenizer


def write_labeling_run(
    model: Classifier | Tagger,
    tokenizer: PieceTokenizer,
    folder: str | os.PathLike[str],
    options: Mapping[str, Any],
) -> None:
    """Writes a run folder in the form that `tfreps train-classifier` or `train-tagger` writes.

    `options` are the options of the run.
    """
    command = "train-tagger" if isinstance(model, Tagger) else "train-classifier"
    run = RunFolder.create(folder, command, {"tokens": "bert", **options, "encoder": "bert"})
    for name, write in asset_writers(model, tokenizer=tokenizer).items():
        run.write_asset(run.path / name, write)
    run.save_model(model)


def write_published(run: RunFolder, folder: str | os.PathLike[str], name: str | None = None) -> str:
    """Writes the BERT model, the vocabulary and a model card of a run for use with transformers.

    Returns the name of the class of Hugging Face transformers that can load the model.
    """
    model = run.load_model()
    if isinstance(model, Tagger) and isinstance(model.encoder, PieceEncoder):
        model = _tagger_of_pieces(model)
    is_known = isinstance(model, Classifier | Tagger | BertPretrainer)
    if not is_known or not isinstance(model.encoder, BertEncoder):
        parts = f"{type(model).__name__} with {type(model.encoder).__name__}" if is_known else ""
        found = parts or type(model).__name__
        raise ValueError(
            f"{run.path} must contain a Classifier, Tagger or BertPretrainer with a "
            f"BertEncoder to be published for transformers; got {found}. Choose another run "
            "folder."
        )
    encoder = model.encoder
    is_pretrainer = isinstance(model, BertPretrainer)
    kind = write_model(model, folder, run.options.get("next_label", 0) if is_pretrainer else 0)
    tokenizer = read_tokenizer(run.tokenizer_path)
    own = None if is_pretrainer else run.options.get("max_length")
    tokenizer.max_length = least(own, max_length(encoder, tokenizer))
    write_checkpoint_tokenizer(tokenizer, folder)
    write_model_card(model, folder, name, run_card(run))
    return kind


def _tagger_of_pieces(tagger: Tagger) -> Tagger:
    """Converts a tagger of words to a tagger of pieces, the form in which taggers are published."""
    options = {"use_crf": tagger.use_crf, "linear": tagger.linear, "dropout": tagger.dropout}
    options["use_projection"] = tagger.use_projection
    found = Tagger(tagger.encoder.encoder, tagger.tags, tagger.scheme, **options)
    copy_weights(found, tagger, parts=["kernel", "bias"] if tagger.use_projection else ["bias"])
    return found
