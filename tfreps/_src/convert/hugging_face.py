"""Writes Hugging Face folders of BERT models (config.json and safetensors), and reads them back."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import keras
import numpy as np

from tfreps._src.convert import array_files, hugging_face_config
from tfreps._src.convert.array_folders import open_folder
from tfreps._src.convert.bert_checkpoint import head_weights, pretrainer_weights
from tfreps._src.convert.bert_families import BERT, Family, family_for, table_dim
from tfreps._src.convert.bert_table import (
    LABELS,
    HuggingFaceNames,
    encoder_rows,
    label_rows,
    masked_lm_rows,
    next_sentence_rows,
    weights_of,
)
from tfreps._src.convert.table import Row, check_arrays, check_no_adapters, read_rows, written_rows
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bert_pretrainer import BertPretrainer
from tfreps._src.models.classifier import Classifier
from tfreps._src.models.piece_encoder import PieceEncoder
from tfreps._src.models.tagger import Tagger

# Last parts of the names of transformers' classes.
LABEL_TASK = "ForSequenceClassification"
TAG_TASK = "ForTokenClassification"


class Layout(NamedTuple):
    """Form in which a model is stored in a Hugging Face folder.

    `kind` is the class of transformers that can load the model. `rows` has a `Row` for each array,
    `weights` are the weights of the model by path, and `config` is the content of `config.json`.
    `arrays` is a result of `table.written_rows`; it includes the table of sinusoidal positions,
    which is not a weight.
    """

    kind: str
    rows: list[Row]
    weights: Mapping[str, keras.Variable]
    arrays: Mapping[str, Callable[[], np.ndarray]]
    config: Mapping[str, Any]


def layout(
    model: BertEncoder | BertPretrainer | Classifier | Tagger, next_label: int = 0
) -> Layout:
    """Returns the form in which a model is stored in a Hugging Face folder.

    `next_label` is the label of a `BertPretrainer`'s next-sentence head that means that the second
    sentence follows the first.

    Raises:
        ValueError: If the classes of transformers cannot represent the model.
    """
    if isinstance(model, BertEncoder):
        names = HuggingFaceNames(prefix="", family=family_for(model.get_config()))
        return _layout(model, "Model", names, [], {}, {})
    if isinstance(model, BertPretrainer):
        return _pretrainer_layout(model, next_label)
    if isinstance(model, Classifier):
        needed = {"pooling": "pooled_output", "hidden_units": None, "linear": None}
        needed["temperature"] = 1.0
        return _label_layout(model, model.labels, needed, LABEL_TASK)
    if isinstance(model, Tagger):
        needed = {"use_crf": False, "use_projection": True, "linear": None}
        needed["temperature"] = 1.0
        return _label_layout(model, model.tags, needed, TAG_TASK)
    raise ValueError(
        "The model must be a BertEncoder, BertPretrainer, Classifier or Tagger to be written "
        f"for Hugging Face's BERT classes; got a {type(model).__name__}. Use `model.save` "
        "instead."
    )


def write_model(
    model: BertEncoder | BertPretrainer | Classifier | Tagger,
    folder: str | os.PathLike[str],
    next_label: int = 0,
    more: Mapping[str, Any] | None = None,
) -> str:
    """Writes `config.json` and `model.safetensors` in the form that `layout` returns.

    `more` has further entries of `config.json`.

    Returns the name of the class of transformers that can load the model.
    """
    found = layout(model, next_label)
    array_files.write_folder(folder, {**found.config, **(more or {})}, found.arrays)
    return found.kind


def read_into(model: Any, folder: str | os.PathLike[str], next_label: int = 0) -> None:
    """Assigns the arrays in a folder, which `write_model` wrote, to the weights of a model.

    The model must have the options with which the folder was written.
    """
    found = layout(model, next_label)
    arrays = open_folder(folder)
    check_arrays(found.rows, arrays.shapes, str(folder))
    rows = [row for row in found.rows if row.ours in found.weights]
    read_rows(rows, arrays.array, found.weights, str(folder))


def _pretrainer_layout(model: BertPretrainer, next_label: int) -> Layout:
    if next_label not in (0, 1):
        raise ValueError(f"`next_label` must be 0 or 1; got {next_label!r}.")
    options = model.encoder.get_config()
    family = family_for(options)
    names = _names(family)
    rows = masked_lm_rows(names, options)
    if family.masked_lm_activation not in (None, options["activation"]):
        raise ValueError(
            f"`activation` must be {family.masked_lm_activation!r} for the masked-LM head of "
            f"Hugging Face's {family.title}; this encoder was created with "
            f"{options['activation']!r}. Use `model.save` instead."
        )
    if model.next_sentence and family is not BERT:
        raise ValueError(
            f"`next_sentence` must be False for Hugging Face's {family.title}, which has no "
            "next-sentence head. Use `model.save` instead."
        )
    task = "ForMaskedLM"
    if model.next_sentence:
        task = "ForPreTraining"
        rows += [_in_order(row, next_label) for row in next_sentence_rows(names, options)]
    return _layout(model.encoder, task, names, rows, pretrainer_weights(model), {})


def _names(family: Family, labels: str = LABELS) -> HuggingFaceNames:
    """Returns the array names that current transformers versions write for a model with a head."""
    bias = family.token_biases[-1]
    prefix = f"{family.model_type}."
    return HuggingFaceNames(prefix, token_bias=bias, family=family, labels=labels)


def _in_order(row: Row, next_label: int) -> Row:
    """Returns a next-sentence row that reorders the two labels to Hugging Face's order.

    In Hugging Face's files, label 0 means that the second sentence follows the first. `next_label`
    is the label with this meaning in the model.
    """
    order = [next_label, 1 - next_label]
    return row._replace(
        read=lambda array: row.read(array)[..., order],
        write=lambda array: row.write(array[..., order]),
    )


def _label_layout(
    model: Classifier | Tagger, labels: list[str], needed: Mapping[str, Any], task: str
) -> Layout:
    encoder = model.encoder.encoder if isinstance(model.encoder, PieceEncoder) else model.encoder
    is_bert = isinstance(encoder, BertEncoder)
    family = family_for(encoder.get_config()) if is_bert else BERT
    kind = f"{family.classes}{task}"
    for option, value in needed.items():
        if getattr(model, option) != value:
            raise ValueError(
                f"`{option}` must be {value!r} for Hugging Face's {kind}; this "
                f"{type(model).__name__} has {getattr(model, option)!r}. Use `model.save` instead."
            )
    if not is_bert:
        raise ValueError(
            f"`encoder` must be a BertEncoder for Hugging Face's {kind}; this "
            f"{type(model).__name__} has a {type(encoder).__name__}. Use `model.save` "
            "instead."
        )
    is_tagger = task == TAG_TASK
    names = _names(family, LABELS if is_tagger else family.label_head)
    rows = label_rows(names, encoder.get_config(), len(labels))
    dropout, *_ = family.tag_dropout if is_tagger else family.label_dropout
    more = {
        "id2label": {str(number): name for number, name in enumerate(labels)},
        "label2id": {name: number for number, name in enumerate(labels)},
        dropout.theirs: model.dropout,
    }
    return _layout(encoder, task, names, rows, head_weights(model), more)


def _layout(
    encoder: BertEncoder,
    task: str,
    names: HuggingFaceNames,
    heads: list[Row],
    weights: Mapping[str, keras.Variable],
    more: Mapping[str, Any],
) -> Layout:
    weights = {**weights_of(encoder), **weights}
    check_no_adapters(weights)
    for path, weight in weights.items():
        if "int8" in str(weight.dtype):
            raise ValueError(
                f"{path.rpartition('/')[0]} was quantized ({weight.dtype}); Hugging Face files "
                "cannot store quantized weights. Use `model.save` instead."
            )
    options = encoder.get_config()
    kind = f"{names.family.classes}{task}"
    if options["pooler"] and names.family is not BERT and task != LABEL_TASK:
        raise ValueError(
            f"`pooler` must be False for Hugging Face's {kind}, which has no pooler; this encoder "
            "was created with pooler=True. Use `model.save` instead."
        )
    config = {"architectures": [kind], **hugging_face_config.as_json(options), **more}
    computed = {}
    if options["positions"] != "learned":
        zeros = np.zeros((1, options["max_sequence_length"], table_dim(options)))
        computed["positions/table"] = encoder.add_positions(zeros)[0]
    rows = encoder_rows(names, {**options, "positions": "learned"}) + heads
    return Layout(kind, rows, weights, written_rows(rows, {**weights, **computed}), config)
