"""Run folders of published BERTs with a head, and published folders of runs with a BERT."""

import os
import pathlib

from tfreps.convert.bert_files import open_checkpoint
from tfreps.convert.bert_table import has, label_rows
from tfreps.files.atomic_files import write_text
from tfreps.models import BertEncoder, BertPretrainer, Classifier, PieceEncoder, Tagger
from tfreps.models.copy_weights import copy_weights
from tfreps.runs.bert_loading import check_size, least, max_length
from tfreps.runs.run_folder import RunFolder
from tfreps.text.bert import (
    checkpoint_tokenizer,
    read_tokenizer,
    write_checkpoint_tokenizer,
    write_tokenizer,
)

TOKEN_KIND = "BertForTokenClassification"


def load_with_head(source: str | os.PathLike, scheme: str | None = None):
    """A published tagger or classifier that reads raw text as its authors' does.

    Args:
        source: folder of Google or Hugging Face with its vocabulary, and a head over labels. Where
            its `architectures` name `BertForTokenClassification`, the head is a tagger's; where
            they name nothing, a scheme makes it one.
        scheme: tag scheme of a tagger, see `tfreps.text.tags`; "none", or None where its files
            say that it is one, for tags without spans.

    Returns:
        a `Classifier`, or a `Tagger` that reads words in pieces; and the tokenizer.

    Raises:
        ValueError: what `Classifier.from_pretrained`, `Tagger.from_pretrained`,
            `checkpoint_tokenizer` and `check_size` raise; a scheme for a classifier.
    """
    path = pathlib.Path(source)
    checkpoint = open_checkpoint(path)
    kinds = checkpoint.config.get("architectures") or ()
    is_tagger = TOKEN_KIND in kinds or not kinds and scheme is not None
    size, folder = checkpoint.options["vocabulary_size"], path if path.is_dir() else path.parent
    tokenizer = checkpoint_tokenizer(folder, vocabulary_size=size)
    if not is_tagger and scheme is not None:
        raise ValueError(f"{path} is a classifier, which has no tag scheme: got {scheme!r}.")
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
    """Whether a published BERT has a head over labels or tags.

    Raises:
        ValueError: what `tfreps.convert.bert_files.open_checkpoint` raises.
    """
    checkpoint = open_checkpoint(source)
    return has(label_rows(checkpoint.names, checkpoint.options, 1), checkpoint.arrays.shapes)


def write_run(model, tokenizer, folder: str | os.PathLike, options: dict) -> None:
    """A run folder as `tfreps train-classifier` or `train-tagger` leaves it.

    Args:
        model, tokenizer: as `load_with_head` returns them.
        folder: where there is nothing yet.
        options: what shall stand in its options.json beside `tokens`.
    """
    is_tagger = isinstance(model, Tagger)
    program = "train-tagger" if is_tagger else "train-classifier"
    run = RunFolder.create(folder, program, {**options, "encoder": "bert", "tokens": "bert"})
    run.keep(run.tokenizer_path, lambda path: write_tokenizer(tokenizer, path))
    names, path = (model.tags, run.tags_path) if is_tagger else (model.labels, run.labels_path)
    text = "".join(name + "\n" for name in names)
    run.keep(path, lambda path: write_text(path, text))
    run.save_model(model)


def write_published(run: RunFolder, folder: str | os.PathLike) -> str:
    """Writes the model of a run, and its vocabulary, as transformers reads them.

    Args:
        run: of `tfreps pretrain-bert`, `train-classifier` or `train-tagger`, with a BERT.
        folder: made if it is not there.

    Returns:
        the name of the class of transformers that loads it.

    Raises:
        ValueError: a model without BERT, or one that transformers has no place for.
    """
    model = run.load_model()
    if isinstance(model, Tagger) and isinstance(model.encoder, PieceEncoder):
        model = _tagger_of_pieces(model)
    is_known = isinstance(model, Classifier | Tagger | BertPretrainer)
    if not is_known or not isinstance(model.encoder, BertEncoder):
        parts = f"{type(model).__name__} on a {type(model.encoder).__name__}" if is_known else ""
        found = parts or type(model).__name__
        raise ValueError(f"{run.path} holds a {found}; expected one on a BERT.")
    encoder = model.encoder
    if isinstance(model, BertPretrainer):
        model.save_pretrained(folder, next_label=run.options.get("next_label", 0))
    else:
        model.save_pretrained(folder)
    tokenizer = read_tokenizer(run.tokenizer_path)
    own = None if isinstance(model, BertPretrainer) else run.options.get("max_length")
    tokenizer.max_length = least(own, max_length(encoder, tokenizer))
    write_checkpoint_tokenizer(tokenizer, folder)
    return open_checkpoint(pathlib.Path(folder)).config["architectures"][0]


def _tagger_of_pieces(tagger):
    """The tagger that reads the pieces themselves, as published ones do."""
    options = {"use_crf": tagger.use_crf, "linear": tagger.linear, "dropout": tagger.dropout}
    options["use_projection"] = tagger.use_projection
    found = Tagger(tagger.encoder.encoder, tagger.tags, tagger.scheme, **options)
    copy_weights(found, tagger, parts=["kernel", "bias"] if tagger.use_projection else ["bias"])
    return found
