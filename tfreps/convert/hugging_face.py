"""Reads and writes Hugging Face folders of BERT models (config.json and safetensors)."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from tfreps.convert import hugging_face_config, safetensors_files
from tfreps.convert.bert_checkpoint import Checkpoint, head_weights, pretrainer_weights
from tfreps.convert.bert_names import MASKED_LM, HuggingFaceNames
from tfreps.convert.bert_table import (
    encoder_rows,
    label_rows,
    masked_lm_rows,
    next_sentence_rows,
    weights_of,
)
from tfreps.convert.table import Row, written_rows
from tfreps.files.json_files import read_json
from tfreps.models.bert import BertEncoder
from tfreps.models.bert_pretrainer import BertPretrainer
from tfreps.models.classifier import Classifier
from tfreps.models.tagger import Tagger


def open_checkpoint(folder: str | os.PathLike) -> Checkpoint:
    """Opens a Hugging Face folder; checks the config and the headers but reads no arrays yet.

    Args:
        folder: str or path-like. Folder with `config.json` and either `model.safetensors` or an
            index, `model.safetensors.index.json`, and the files that it names.

    Raises:
        ValueError: If a file is missing, damaged or not a safetensors file, or if the config
            describes an unsupported network.

    Reference: transformers, "models/bert/modeling_bert.py".
    """
    config_file = Path(folder) / "config.json"
    config = read_json(config_file)
    options = hugging_face_config.encoder_options(config, str(config_file))
    arrays = safetensors_files.open_folder(folder)
    return Checkpoint(str(folder), config, options, names_in(arrays.shapes), arrays)


def names_in(shapes: Mapping) -> HuggingFaceNames:
    """Detects the naming scheme: the prefix, and the names of layer norms and the output bias."""
    prefix = "bert." if any(name.startswith("bert.") for name in shapes) else ""
    early = f"{prefix}embeddings.LayerNorm.gamma" in shapes
    norm = ("gamma", "beta") if early else ("weight", "bias")
    biases = (f"{MASKED_LM}.bias", f"{MASKED_LM}.decoder.bias")
    bias = next((name for name in biases if name in shapes), biases[0])
    return HuggingFaceNames(prefix, norm, bias)


def write_encoder(encoder: BertEncoder, folder: str | os.PathLike) -> None:
    """Writes an encoder as a `BertModel`; see `BertEncoder.save_pretrained`."""
    _write(folder, encoder, "BertModel", HuggingFaceNames(prefix=""), [], {})


def write_pretrainer(model: BertPretrainer, folder: str | os.PathLike, next_label: int = 0) -> None:
    """Writes a pretrainer; see `BertPretrainer.save_pretrained`."""
    if next_label not in (0, 1):
        raise ValueError(f"`next_label` must be 0 or 1; got {next_label!r}.")
    names = HuggingFaceNames()
    options = model.encoder.get_config()
    rows = masked_lm_rows(names, options)
    kind = "BertForMaskedLM"
    weights = pretrainer_weights(model)
    if model.next_sentence:
        rows = rows + next_sentence_rows(names, options)
        kind = "BertForPreTraining"
        order = [next_label, 1 - next_label]  # in Hugging Face's models, label 0 is next
        for name in "next_sentence_dense/kernel", "next_sentence_dense/bias":
            weights[name] = np.asarray(weights[name])[..., order]
    _write(folder, model.encoder, kind, names, rows, weights)


def write_classifier(model: Classifier, folder: str | os.PathLike) -> None:
    """Writes a classifier as `BertForSequenceClassification`.

    Raises:
        ValueError: If that class cannot represent the classifier.
    """
    needed = {"pooling": "pooled", "hidden_units": None, "linear": None}
    _write_labels(model, model.labels, needed, "BertForSequenceClassification", folder)


def write_tagger(model: Tagger, folder: str | os.PathLike) -> None:
    """Writes a tagger without a CRF as `BertForTokenClassification`.

    Raises:
        ValueError: If that class cannot represent the tagger.
    """
    needed = {"use_crf": False, "use_projection": True, "linear": None}
    _write_labels(model, model.tags, needed, "BertForTokenClassification", folder)


def _write_labels(model, labels: list[str], needed: Mapping, kind: str, folder) -> None:
    for option, value in needed.items():
        if getattr(model, option) != value:
            raise ValueError(
                f"`{option}` must be {value!r} for Hugging Face's {kind}; this "
                f"{type(model).__name__} has {getattr(model, option)!r}. Use `model.save` instead."
            )
    if not isinstance(model.encoder, BertEncoder):
        raise ValueError(
            f"`encoder` must be a BertEncoder for Hugging Face's {kind}; this "
            f"{type(model).__name__} has a {type(model.encoder).__name__}. Use `model.save` "
            "instead."
        )
    names = HuggingFaceNames()
    rows = label_rows(names, model.encoder.get_config(), len(labels))
    more = {
        "id2label": {str(number): name for number, name in enumerate(labels)},
        "label2id": {name: number for number, name in enumerate(labels)},
        "classifier_dropout": model.dropout,
    }
    _write(folder, model.encoder, kind, names, rows, head_weights(model), more)


def _write(
    folder: str | os.PathLike,
    encoder: BertEncoder,
    kind: str,
    names: HuggingFaceNames,
    heads: list[Row],
    weights: Mapping,
    more: Mapping | None = None,
) -> None:
    for part in encoder._flatten_layers():
        if getattr(part, "lora_enabled", False):
            raise ValueError(
                f"{part.path} has LoRA adapters (`enable_lora`), which Hugging Face files cannot "
                "store. Save the model with `model.save` and load it again: this merges the "
                "adapters into the weights."
            )
        if getattr(part, "quantization_mode", None):
            raise ValueError(
                f"{part.path} was quantized ({part.quantization_mode}); Hugging Face files cannot "
                "store quantized weights. Use `model.save` instead."
            )
    options = encoder.get_config()
    config = hugging_face_config.as_json(options)
    weights = {**weights_of(encoder), **weights}
    rows = encoder_rows(names, {**options, "positions": "learned"}) + heads
    if options["positions"] != "learned":
        zeros = np.zeros((1, options["max_positions"], options["hidden_dim"]))
        weights["positions/table"] = encoder.add_positions(zeros)[0]
    config = {"architectures": [kind], **config, **(more or {})}
    safetensors_files.write_folder(folder, config, written_rows(rows, weights))
