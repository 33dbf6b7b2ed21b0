"""Reads and writes the folders of sentence-transformers.

modules.json                        the modules, in the order in which they are applied
config.json, model.safetensors      the BERT model, here or in the folder of its module; older
                                    folders have pytorch_model.bin instead, also for dense layers
sentence_bert_config.json           max_seq_length, do_lower_case and processing_kwargs; for a
                                    DistilBERT, it can have the name sentence_distilbert_config.json
config_sentence_transformers.json   prompts, and the name of the similarity of two vectors
1_Pooling/config.json               the kinds of pooling
2_Dense/                            config.json and model.safetensors of a dense layer
3_Normalize/                        no files
"""

import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tfreps._src.convert import hugging_face
from tfreps._src.convert.array_files import write_folder
from tfreps._src.convert.array_folders import open_folder
from tfreps._src.convert.bert_checkpoint import read_encoder
from tfreps._src.convert.bert_files import open_hugging_face
from tfreps._src.convert.similarity_names import SIMILARITIES, Similarity
from tfreps._src.convert.table import Row, check_arrays, read_rows, written_rows
from tfreps._src.files.atomic_files import write_text
from tfreps._src.files.json_files import read_json, read_json_list, write_json
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.sentence_embedder import PoolingKind, SentenceEmbedder

MODULES = "modules.json"
SETTINGS = "sentence_bert_config.json"
OLDER_SETTINGS = "sentence_distilbert_config.json"  # name of this file for a DistilBERT model
PROMPTS = "config_sentence_transformers.json"
# Kinds of pooling under sentence-transformers' names, and the older keys of config.json. With the
# older keys, the vectors of several kinds are concatenated in this order.
POOLINGS: dict[str, PoolingKind] = {
    "cls": "first",
    "max": "max",
    "mean": "mean",
    "mean_sqrt_len_tokens": "mean_sqrt",
}
OLDER_KEYS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
ACTIVATIONS = {
    "torch.nn.modules.linear.Identity": "linear",
    "torch.nn.modules.activation.Tanh": "tanh",
    "torch.nn.modules.activation.ReLU": "relu",
    "torch.nn.modules.activation.GELU": "gelu",
    "torch.nn.modules.activation.Sigmoid": "sigmoid",
}
# Options in `processing_kwargs` that change no vector.
NO_EFFECT = "padding", "pad_to_multiple_of", "return_tensors"
OLDER_PLACES = "sentence_transformers.models."  # prefix of class names that all versions accept


class TextSettings(NamedTuple):
    """Settings with which a model of sentence-transformers reads text.

    Attributes:
        max_length: int or None. Maximum number of pieces in a text, instead of the tokenizer's
            maximum. If `None`, the tokenizer's maximum applies.
        lowercase: bool. Whether text is lowercased before it is split.
        prompts: dict from names to the texts that can be put in front of a text.
        default_prompt: str or None. Name of the prompt that is used by default.
        similarity_fn_name: str. Name of the similarity of two vectors.
    """

    max_length: int | None = None
    lowercase: bool = False
    prompts: Mapping[str, str] = {}
    default_prompt: str | None = None
    similarity_fn_name: Similarity = "cosine"


class Module(NamedTuple):
    """Module that modules.json lists, with a kind, such as "Pooling", and a folder."""

    kind: str
    folder: pathlib.Path


def is_sentence_transformers(path: pathlib.Path) -> bool:
    """Returns True if a folder has the modules.json of a sentence-transformers model."""
    return (path / MODULES).is_file()


def read_modules(folder: str | os.PathLike[str]) -> list[Module]:
    """Returns the modules of modules.json; raises a ValueError if tfreps does not support them."""
    file = pathlib.Path(folder, MODULES)
    modules = []
    for entry in read_json_list(file):
        kind, place = (str(entry.get(key, "")) for key in ("type", "path"))
        if not kind.startswith("sentence_transformers."):
            raise ValueError(
                f"{file}: every `type` must be a class of sentence-transformers, whose name begins "
                f"with 'sentence_transformers.'; got {kind!r}."
            )
        inner = pathlib.Path(place)
        if inner.is_absolute() or ".." in inner.parts:
            raise ValueError(f"{file}: `path` must be a folder inside {folder}; got {place!r}.")
        modules.append(Module(kind.rpartition(".")[2], pathlib.Path(folder, place)))
    kinds = [module.kind for module in modules]
    dense = ["Dense"] * kinds.count("Dense")
    if kinds != ["Transformer", "Pooling", *dense, *["Normalize"] * ("Normalize" in kinds)]:
        raise ValueError(
            f"{file}: the modules must be a Transformer, a Pooling, any number of Dense and, "
            f"optionally, a Normalize, in this order; got {', '.join(kinds) or 'none'}."
        )
    return modules


def transformer_folder(folder: str | os.PathLike[str]) -> pathlib.Path:
    """Returns the folder of the BERT model and its vocabulary, which is `folder` or inside it."""
    return read_modules(folder)[0].folder


def read_embedder(
    folder: str | os.PathLike[str],
    encoder_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> SentenceEmbedder:
    """Loads a `SentenceEmbedder` from a folder; see `SentenceEmbedder.from_pretrained`."""
    transformer, pooling, *others = read_modules(folder)
    checkpoint = open_hugging_face(transformer.folder)
    encoder = read_encoder(checkpoint, **{"pooler": False, **(encoder_options or {})})
    width = encoder.output_dim
    layers = [module for module in others if module.kind == "Dense"]
    model = SentenceEmbedder(
        encoder,
        pooling=_pooling(pooling.folder / "config.json", width),
        dense=[_dense_options(module.folder) for module in layers],
        normalize=any(module.kind == "Normalize" for module in others),
        **options,
    )
    for module, layer in zip(layers, model.dense_layers, strict=True):
        arrays, rows = open_folder(module.folder), _dense_rows(layer)
        check_arrays(rows, arrays.shapes, str(module.folder))
        read_rows(rows, arrays.array, _dense_weights(layer), str(module.folder))
    return model


def read_settings(folder: str | os.PathLike[str]) -> TextSettings:
    """Returns the `TextSettings` of the model in a folder."""
    file, prompts = transformer_folder(folder) / SETTINGS, pathlib.Path(folder, PROMPTS)
    file = file if file.is_file() else file.with_name(OLDER_SETTINGS)
    found = read_json(file) if file.is_file() else {}
    longest = _longest(found, file)
    about = read_json(prompts) if prompts.is_file() else {}
    texts, default = about.get("prompts") or {}, about.get("default_prompt_name")
    if not isinstance(texts, dict) or not all(isinstance(t, str) for t in texts.values()):
        raise ValueError(
            f"{prompts}: `prompts` must map names to texts; got {str(texts)[:60]}. Correct the "
            "file."
        )
    if default is not None and default not in [*texts]:
        raise ValueError(
            f"{prompts}: `default_prompt_name` must be one of {', '.join(texts)}; got {default!r}."
        )
    similarity = about.get("similarity_fn_name") or "cosine"
    if similarity not in SIMILARITIES:
        raise ValueError(
            f"{prompts}: `similarity_fn_name` must be one of {', '.join(SIMILARITIES)}; got "
            f"{similarity!r}. Correct the file."
        )
    return TextSettings(longest, bool(found.get("do_lower_case")), texts, default, similarity)


def write_embedder(
    model: SentenceEmbedder,
    folder: str | os.PathLike[str],
    settings: TextSettings | None = None,
) -> None:
    """Writes a `SentenceEmbedder` to a folder for sentence-transformers, without the vocabulary."""
    settings = settings or TextSettings()
    if not isinstance(model.encoder, BertEncoder):
        raise ValueError(
            "`encoder` must be a BertEncoder for sentence-transformers; this SentenceEmbedder has "
            f"a {type(model.encoder).__name__}. Use `model.save` instead."
        )
    pooling = _pooling_config(model)
    dense = [_written_dense(layer) for layer in model.dense_layers]
    folder = pathlib.Path(folder)
    hugging_face.write_model(model.encoder, folder)
    kinds = ["Transformer", "Pooling", *["Dense"] * len(dense), *["Normalize"] * model.normalize]
    modules = []
    for number, kind in enumerate(kinds):
        place = f"{number}_{kind}" if number else ""
        (folder / place).mkdir(exist_ok=True)
        entry = {"idx": number, "name": str(number), "path": place, "type": OLDER_PLACES + kind}
        modules.append(entry)
    write_json(folder / "1_Pooling" / "config.json", pooling)
    for number, (config, arrays) in enumerate(dense, 2):
        write_folder(folder / f"{number}_Dense", config, arrays)
    longest = (
        model.encoder.max_sequence_length if settings.max_length is None else settings.max_length
    )
    write_json(folder / SETTINGS, {"max_seq_length": longest, "do_lower_case": settings.lowercase})
    about = {
        "prompts": dict(settings.prompts),
        "default_prompt_name": settings.default_prompt,
        "similarity_fn_name": settings.similarity_fn_name,
    }
    write_json(folder / PROMPTS, about)
    write_text(folder / MODULES, json.dumps(modules, indent=2) + "\n")


def _longest(config: Mapping[str, Any], file: pathlib.Path) -> int | None:
    """Returns the maximum number of pieces in a text, or `None` if the config does not limit it.

    The value is `max_length` in `processing_kwargs` or, if it is not set, `max_seq_length`.

    Raises:
        ValueError: If the value is not an int of at least 3, or an option in `processing_kwargs` is
            not supported.
    """
    found = {"max_seq_length": config.get("max_seq_length")}
    parts = config.get("processing_kwargs") or {}
    if not isinstance(parts, dict) or not all(isinstance(part, dict) for part in parts.values()):
        raise ValueError(
            f"{file}: `processing_kwargs` must be a JSON object whose values are JSON objects; "
            f"got {parts!r}."
        )
    found |= {**parts.get("text", {}), **parts.get("common", {})}
    for name, value in found.items():
        is_default = name == "truncation" and value in (True, "longest_first")
        if name not in ("max_seq_length", "max_length", *NO_EFFECT) and not is_default:
            raise ValueError(
                f"{file}: the option `{name}` in `processing_kwargs` is not supported; got "
                f"{value!r}. tfreps supports only `max_length` there; remove other options."
            )
    name = "max_length" if found.get("max_length") is not None else "max_seq_length"
    longest = found[name]
    if longest is not None and (not isinstance(longest, int) or longest < 3):
        raise ValueError(f"{file}: `{name}` must be an int of at least 3; got {longest!r}.")
    return longest


def _pooling(file: pathlib.Path, width: int) -> PoolingKind | list[PoolingKind]:
    """Reads config.json of a pooling module; returns the option `pooling` of `SentenceEmbedder`."""
    config = read_json(file)
    modes = config.get("pooling_mode")
    if modes is None:
        modes = [mode for key, mode in OLDER_KEYS.items() if config.get(key)] or ["mean"]
    modes = modes if isinstance(modes, list) else [modes]
    unknown = [mode for mode in modes if mode not in [*POOLINGS]]
    if unknown:
        raise ValueError(
            f"{file}: the pooling must be one of {', '.join(POOLINGS)}; got {unknown[0]!r}, "
            "which tfreps does not support."
        )
    theirs = config.get("embedding_dimension", config.get("word_embedding_dimension", width))
    if theirs != width:
        raise ValueError(
            f"{file}: `embedding_dimension` (in older files `word_embedding_dimension`) must "
            f"be {width}, the width of the Transformer; got {theirs!r}."
        )
    if not config.get("include_prompt", True):
        raise ValueError(
            f"{file}: `include_prompt` must be true, because tfreps always pools the pieces of "
            f"a prompt; got {config['include_prompt']!r}."
        )
    found: list[PoolingKind] = [POOLINGS[mode] for mode in modes]
    return found[0] if len(found) == 1 else found


def _pooling_config(model: SentenceEmbedder) -> dict[str, Any]:
    """Returns the content of config.json for the pooling of a model.

    Older versions of sentence-transformers use one key for each kind of pooling, in a fixed order.
    The result has these keys if the poolings of the model have this order.
    """
    names = {ours: theirs for theirs, ours in POOLINGS.items()}
    kinds = [model.pooling] if isinstance(model.pooling, str) else [*model.pooling]
    parts = sum((["mean", "max"] if kind == "mean_max" else [kind] for kind in kinds), [])
    if any(kind not in names for kind in parts):
        raise ValueError(
            f"`pooling` must consist of {', '.join(names)} for sentence-transformers; this model "
            f"has {model.pooling!r}. Use `model.save` instead."
        )
    modes = [names[kind] for kind in parts]
    width = model.encoder.output_dim
    if modes == [mode for mode in OLDER_KEYS.values() if mode in modes]:
        flags = {key: mode in modes for key, mode in OLDER_KEYS.items()}
        return {"word_embedding_dimension": width, **flags, "include_prompt": True}
    return {"embedding_dimension": width, "pooling_mode": modes, "include_prompt": True}


def _dense_options(folder: pathlib.Path) -> dict[str, Any]:
    """Returns the options of a dense layer, read from config.json in the folder of the layer.

    Raises:
        ValueError: If an option is not supported, or the kernel does not have the shape that
            config.json states.
    """
    file = folder / "config.json"
    config = read_json(file)
    reads = config.get("module_input_name"), config.get("module_output_name")
    if config.get("use_residual") or any(x not in (None, "sentence_embedding") for x in reads):
        raise ValueError(
            f"{file}: a Dense must map the vector of a text, without a residual; got "
            f"`use_residual` {config.get('use_residual')!r}, `module_input_name` {reads[0]!r} "
            f"and `module_output_name` {reads[1]!r}. tfreps does not support other values."
        )
    name = str(config.get("activation_function", "torch.nn.modules.activation.Tanh"))
    if name not in ACTIVATIONS:
        raise ValueError(
            f"{file}: `activation_function` must be one of {', '.join(ACTIVATIONS)}; got "
            f"{name!r}, which tfreps does not support."
        )
    sizes = config.get("out_features"), config.get("in_features")
    shape = open_folder(folder).shapes.get("linear.weight")
    if sizes != shape:
        raise ValueError(
            f"{folder}: `linear.weight` must have the shape [out_features, in_features] of "
            f"config.json, here {sizes}; got {shape}. Use files that were published together."
        )
    options = {"activation": ACTIVATIONS[name], "use_bias": bool(config.get("bias", True))}
    return {"units": sizes[0], **options}


def _dense_rows(layer: Any) -> list[Row]:
    kernel = layer.kernel.shape
    rows = [Row("linear.weight", kernel[::-1], "kernel", read=np.transpose, write=np.transpose)]
    return rows + [Row("linear.bias", kernel[1:], "bias")] * layer.use_bias


def _dense_weights(layer: Any) -> dict[str, Any]:
    weights = {"kernel": layer.kernel, "bias": layer.bias}
    return {name: weight for name, weight in weights.items() if weight is not None}


def _written_dense(layer: Any) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Returns the config.json of a dense layer, and the result of `written_rows` for its arrays."""
    names = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    activation = layer.activation.__name__
    if activation not in names:
        raise ValueError(
            f"`activation` of a dense layer must be one of {', '.join(names)} for "
            f"sentence-transformers; got {activation!r}. Use `model.save` instead."
        )
    width, units = layer.kernel.shape
    config = {"in_features": width, "out_features": units, "bias": layer.use_bias}
    config["activation_function"] = names[activation]
    return config, written_rows(_dense_rows(layer), _dense_weights(layer))
