"""Converts BERT models with a head between run folders and published folders."""

import os
import pathlib

from tfreps.convert.bert_files import open_checkpoint
from tfreps.convert.bert_table import has, label_rows
from tfreps.convert.hugging_face import TAG_TASK
from tfreps.convert.model_cards import write_model_card
from tfreps.files.atomic_files import write_text
from tfreps.models import BertEncoder, BertPretrainer, Classifier, PieceEncoder, Tagger
from tfreps.models.copy_weights import copy_weights
from tfreps.runs.bert_loading import check_size, least, max_length
from tfreps.runs.run_card import run_card
from tfreps.runs.run_folder import RunFolder
from tfreps.text.bert import (
    checkpoint_tokenizer,
    read_tokenizer,
    write_checkpoint_tokenizer,
    write_tokenizer,
)


def load_with_head(source: str | os.PathLike, scheme: str | None = None):
    """Loads a published tagger or classifier and the tokenizer that it was trained with.

    Args:
        source: str or path-like. Folder of a Google or Hugging Face checkpoint with its vocabulary
            and a tag or label head. The model is a tagger if its `architectures` include a class
            such as `BertForTokenClassification`, or if it has no `architectures` and `scheme` is
            given.
        scheme: str. Tag scheme of a tagger (see `tfreps.text.tags`). If `"none"` or `None`, the
            tags of a tagger have no spans. Defaults to `None`.

    Returns:
        Tuple `(model, tokenizer)`. `model` is a `Classifier`, or a `Tagger` that predicts one tag
        per word from the word's first piece (see `PieceEncoder`). `tokenizer` is a
        tokenizer of `tfreps.text.bert`.

    Raises:
        ValueError: If a scheme is given for a classifier, if the tags of a tagger do not belong to
            `scheme`, or if `Classifier.from_pretrained`, `Tagger.from_pretrained`,
            `checkpoint_tokenizer` or `check_size` raises an error.
    """
    path = pathlib.Path(source)
    checkpoint = open_checkpoint(path)
    kinds = checkpoint.config.get("architectures") or ()
    has_tags = any(str(kind).endswith(TAG_TASK) for kind in kinds)
    is_tagger = has_tags or not kinds and scheme is not None
    size = checkpoint.options["vocabulary_size"]
    folder = path if path.is_dir() else path.parent
    tokenizer = checkpoint_tokenizer(folder, vocabulary_size=size)
    if not is_tagger and scheme is not None:
        raise ValueError(
            f"`scheme` cannot be used here: {path} is a classifier, which has no tag scheme; got "
            f"{scheme!r}. Omit `scheme`."
        )
    found = (Tagger if is_tagger else Classifier).from_pretrained(path)
    check_size(found.encoder, tokenizer, path)
    if not is_tagger:
        return found, tokenizer
    scheme = None if scheme == "none" else scheme
    words = PieceEncoder(found.encoder, tokenizer.start_id, tokenizer.separator_id, name="words")
    options = {"use_crf": False, "dropout": found.dropout}
    tagger = Tagger(words, found.tags, scheme, **options, name="tagger")
    copy_weights(tagger, found, parts=["kernel", "bias"])
    return tagger, tokenizer


def has_head(source: str | os.PathLike) -> bool:
    """Returns True if a published BERT model has a label or tag head.

    Raises:
        ValueError: If `tfreps.convert.open_checkpoint` cannot open `source`.
    """
    checkpoint = open_checkpoint(source)
    return has(label_rows(checkpoint.names, checkpoint.options, 1), checkpoint.arrays.shapes)


def write_run(model, tokenizer, folder: str | os.PathLike, options: dict) -> None:
    """Writes a run folder like those of `tfreps train-classifier` and `tfreps train-tagger`.

    Args:
        model: `Classifier` or `Tagger`, as returned by `load_with_head`.
        tokenizer: Tokenizer returned by `load_with_head`.
        folder: str or path-like. A folder that does not exist yet, or an empty one.
        options: dict. Options that are written to options.json in addition to `encoder` and
            `tokens`.

    Raises:
        ValueError: If `RunFolder.create` raises an error.
    """
    is_tagger = isinstance(model, Tagger)
    program = "train-tagger" if is_tagger else "train-classifier"
    run = RunFolder.create(folder, program, {**options, "encoder": "bert", "tokens": "bert"})
    run.keep(run.tokenizer_path, lambda path: write_tokenizer(tokenizer, path))
    names, path = (model.tags, run.tags_path) if is_tagger else (model.labels, run.labels_path)
    text = "".join(name + "\n" for name in names)
    run.keep(path, lambda path: write_text(path, text))
    run.save_model(model)


def write_published(run: RunFolder, folder: str | os.PathLike, name: str | None = None) -> str:
    """Writes the model and the vocabulary of a run in the format of Hugging Face transformers.

    A model card, README.md, is also written.

    Args:
        run: `RunFolder` of `tfreps pretrain-bert`, `train-classifier` or `train-tagger` whose
            model has a BERT encoder.
        folder: str or path-like. It is created if it does not exist.
        name: str. Name of the model in its model card. If `None` (the default), the name of the
            folder is used.

    Returns:
        str. Name of the class of Hugging Face transformers that can load the model.

    Raises:
        ValueError: If the run contains no model, the model has no BERT encoder, or transformers
            cannot represent the model.
    """
    model = run.load_model()
    if isinstance(model, Tagger) and isinstance(model.encoder, PieceEncoder):
        model = _tagger_of_pieces(model)
    is_known = isinstance(model, Classifier | Tagger | BertPretrainer)
    if not is_known or not isinstance(model.encoder, BertEncoder):
        parts = f"{type(model).__name__} with {type(model.encoder).__name__}" if is_known else ""
        found = parts or type(model).__name__
        raise ValueError(f"Expected a model with a BERT encoder in {run.path}; got {found}.")
    encoder = model.encoder
    if isinstance(model, BertPretrainer):
        model.save_pretrained(folder, next_label=run.options.get("next_label", 0))
    else:
        model.save_pretrained(folder)
    tokenizer = read_tokenizer(run.tokenizer_path)
    own = None if isinstance(model, BertPretrainer) else run.options.get("max_length")
    tokenizer.max_length = least(own, max_length(encoder, tokenizer))
    write_checkpoint_tokenizer(tokenizer, folder)
    write_model_card(model, folder, name, run_card(run))
    return open_checkpoint(pathlib.Path(folder)).config["architectures"][0]


def _tagger_of_pieces(tagger):
    """Converts a tagger of words to a tagger of pieces, the form in which taggers are published."""
    options = {"use_crf": tagger.use_crf, "linear": tagger.linear, "dropout": tagger.dropout}
    options["use_projection"] = tagger.use_projection
    found = Tagger(tagger.encoder.encoder, tagger.tags, tagger.scheme, **options)
    copy_weights(found, tagger, parts=["kernel", "bias"] if tagger.use_projection else ["bias"])
    return found
