"""Builds models from an open BERT checkpoint in any supported format."""

import itertools
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import keras
import numpy as np

from tfreps._src.convert import hugging_face_config
from tfreps._src.convert.array_files import Arrays
from tfreps._src.convert.bert_families import family_in
from tfreps._src.convert.bert_table import (
    WORDS,
    HuggingFaceNames,
    Names,
    encoder_rows,
    has,
    label_rows,
    masked_lm_rows,
    next_sentence_rows,
    pooler_rows,
    weights_of,
)
from tfreps._src.convert.table import Row, check_arrays, read_rows
from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.bert_pretrainer import BertPretrainer
from tfreps._src.models.classifier import Classifier
from tfreps._src.models.tagger import Tagger
from tfreps._src.text.tags.tag_schemes import Scheme, detect_scheme

LOG = logging.getLogger(__name__)
Model = TypeVar("Model")

# Options that the arrays of a checkpoint determine, so callers cannot change them.
FIXED = (
    "vocabulary_size",
    "hidden_dim",
    "num_heads",
    "intermediate_dim",
    "normalize_first",
    "positions",
    "normalize_positions",
    "num_segments",
    "embedding_dim",
)


class Checkpoint(NamedTuple):
    """Open BERT checkpoint: its config, the shapes of its arrays, and a function that reads them.

    Args:
        source: str. Name of the checkpoint in error messages.
        config: dict. Config as stored in the file; empty if the checkpoint has none.
        options: dict. Options of the `BertEncoder` that the arrays belong to.
        names: `HuggingFaceNames` or `GoogleNames`. Naming scheme of the arrays.
        arrays: `Arrays`. Shapes of the arrays, and a function that reads one of them.
        unspecified: sequence of str. Options that the files do not state; callers may change them.
            Defaults to `()`.
        next_label: int. Label of the next-sentence head that means that the second sentence
            follows the first. Defaults to 0.
    """

    source: str
    config: Mapping[str, Any]
    options: Mapping[str, Any]
    names: Names
    arrays: Arrays
    unspecified: Sequence[str] = ()
    next_label: int = 0


def read_encoder(checkpoint: Checkpoint, **overrides: Any) -> BertEncoder:
    """Returns the encoder of a checkpoint, without heads.

    `overrides` are options of `BertEncoder` that replace those of the checkpoint.
    """
    return _read(checkpoint, overrides, [], lambda encoder: (encoder, {}))


def read_pretrainer(
    checkpoint: Checkpoint, next_sentence: bool | None = None, **overrides: Any
) -> BertPretrainer:
    """Returns the `BertPretrainer` of a checkpoint that has a masked-LM head.

    The arguments are those of `BertPretrainer.from_pretrained`.
    """
    names = checkpoint.names
    shapes = checkpoint.arrays.shapes
    heads, second = (
        rows(names, checkpoint.options) for rows in (masked_lm_rows, next_sentence_rows)
    )
    if not has(heads, shapes):
        raise ValueError(
            f"{checkpoint.source} has no masked-LM head. To start with a new one, use "
            "BertPretrainer(BertEncoder.from_pretrained(...))."
        )
    _check_tied(checkpoint)
    head = family_in(checkpoint.config, checkpoint.source).masked_lm_activation
    if head not in (None, checkpoint.options["activation"]):
        raise ValueError(
            f"{checkpoint.source}: the masked-LM head has the activation {head!r}, but the layers "
            f"have {checkpoint.options['activation']!r}, and BertPretrainer has one activation for "
            "both. To start with a new head, use BertPretrainer(BertEncoder.from_pretrained(...))."
        )
    next_sentence = has(second, shapes) if next_sentence is None else next_sentence
    if next_sentence and not has(second, shapes):
        raise ValueError(
            f"{checkpoint.source} has no next-sentence head. Pass `next_sentence=False` to build "
            "the model without one."
        )
    if next_sentence and not overrides.get("pooler", True):
        raise ValueError(
            "`pooler` must be True to load the next-sentence head; got pooler=False. To build the "
            "model without this head, pass `next_sentence=False`."
        )
    if next_sentence:
        heads = heads + second
        overrides = {**overrides, "pooler": True}

    def make(encoder: BertEncoder) -> tuple[BertPretrainer, dict[str, keras.Variable]]:
        model = BertPretrainer(encoder, next_sentence=next_sentence)
        return model, pretrainer_weights(model)

    return _read(checkpoint, overrides, heads, make)


def read_classifier(
    checkpoint: Checkpoint,
    labels: Sequence[str] | None = None,
    encoder_options: Mapping[str, Any] | None = None,
    next_sentence: bool = False,
    **options: Any,
) -> Classifier:
    """Returns a `Classifier` with a checkpoint's label head.

    The arguments are those of `Classifier.from_pretrained`.
    """
    encoder_options = encoder_options or {}
    if next_sentence:
        found, rows = _second_task(checkpoint)
    else:
        found, rows = _head(checkpoint, Classifier, "ForTokenClassification")
    problem = checkpoint.config.get("problem_type")
    if problem not in (None, "single_label_classification") or len(found) == 1:
        raise ValueError(
            f"The head of {checkpoint.source} must choose one of at least two labels; got "
            f"{len(found)} labels and `problem_type` {problem!r}. To start with a new head, "
            "use Classifier(BertEncoder.from_pretrained(...), ...)."
        )
    for name, only in ("pooling", "pooled_output"), ("hidden_units", None), ("linear", None):
        if options.get(name, only) != only:
            raise ValueError(
                f"`{name}` must be {only!r} for the head of {checkpoint.source}; got "
                f"{options[name]!r}."
            )
    if not encoder_options.get("pooler", True):
        raise ValueError(
            f"`pooler` must be True for the head of {checkpoint.source}, which reads the output of "
            "the pooler; got False."
        )

    dropout = hugging_face_config.head_dropout(checkpoint.config, checkpoint.source)
    options = {"dropout": dropout, **options, "pooling": "pooled_output"}

    def make(encoder: BertEncoder) -> tuple[Classifier, dict[str, keras.Variable]]:
        model = Classifier(encoder, _renamed(found, labels, "labels", checkpoint), **options)
        return model, head_weights(model)

    return _read(checkpoint, {**encoder_options, "pooler": True}, rows, make)


def read_tagger(
    checkpoint: Checkpoint,
    tags: Sequence[str] | None = None,
    encoder_options: Mapping[str, Any] | None = None,
    scheme: Scheme | Literal["none"] | None = None,
    **options: Any,
) -> Tagger:
    """Returns a `Tagger` with a checkpoint's tag head.

    The arguments are those of `Tagger.from_pretrained`.
    """
    found, rows = _head(checkpoint, Tagger, "ForSequenceClassification")
    names = _renamed(found, tags, "tags", checkpoint)
    chosen = _scheme_of(names, scheme, checkpoint.source)

    dropout = hugging_face_config.head_dropout(checkpoint.config, checkpoint.source, tags=True)
    options = {"dropout": dropout, "use_crf": False, **options}

    def make(encoder: BertEncoder) -> tuple[Tagger, dict[str, keras.Variable]]:
        model = Tagger(encoder, names, chosen, **options)
        return model, head_weights(model)

    return _read(checkpoint, encoder_options or {}, rows, make)


def _scheme_of(
    names: Sequence[str], scheme: Scheme | Literal["none"] | None, source: str
) -> Scheme | None:
    """Returns the scheme of published tags; if it is `None`, it is detected and logged."""
    if scheme is not None:
        return None if scheme == "none" else scheme
    found = detect_scheme(names)
    if found is None:
        shown = ", ".join(list(names)[:3])
        LOG.info(
            "%s: the tags (%s, ...) have no spans. If they mark spans, name them B-PER, I-PER and "
            "O, for example, in the id2label of config.json.",
            source,
            shown,
        )
    else:
        LOG.info(
            "%s: the tags are read in the scheme %s, which their names match. If the model was "
            "trained with another scheme, such as iob1, pass it as the scheme; with the scheme "
            "none, the tags have no spans.",
            source,
            found,
        )
    return found


def pretrainer_weights(model: BertPretrainer) -> dict[str, keras.Variable]:
    """Returns a dict from paths, such as "transform/kernel", to weights of a pretrainer's heads."""
    norm = model.transform_norm
    found: dict[str, Any] = {
        "transform/kernel": model.transform.kernel,
        "transform/bias": model.transform.bias,
        "transform_norm/gamma": norm.gamma,
        "transform_norm/beta": norm.beta,
        "token_bias": model.token_bias,
    }
    if model.next_sentence:
        dense: Any = model.next_sentence_dense
        found["next_sentence_dense/kernel"] = dense.kernel
        found["next_sentence_dense/bias"] = dense.bias
    return found


def head_weights(model: Classifier | Tagger) -> dict[str, keras.Variable]:
    """Returns a dict from "head/kernel" and "head/bias" to the weights of a label or tag head."""
    return {"head/kernel": model.kernel, "head/bias": model.bias}


def _read(
    checkpoint: Checkpoint,
    overrides: Mapping[str, Any],
    heads: list[Row],
    make: Callable[[BertEncoder], tuple[Model, dict[str, keras.Variable]]],
) -> Model:
    """Returns a model with the weights of a checkpoint.

    All names and shapes are checked before arrays are read. `overrides` are options of the encoder
    that replace those of the checkpoint, and `heads` has a `Row` for each array of the head. `make`
    takes the encoder, and returns the model and the weights of its head by path.
    """
    options = _chosen(checkpoint, overrides)
    rows = encoder_rows(
        checkpoint.names,
        {**checkpoint.options, "num_layers": options["num_layers"], "pooler": options["pooler"]},
        options["max_sequence_length"],
    )
    rows += heads
    shapes = checkpoint.arrays.shapes
    check_arrays(rows, shapes, checkpoint.source, _ignored(checkpoint))
    encoder = BertEncoder(**options)
    model, weights = make(encoder)
    weights = {**weights_of(encoder), **weights}
    read_rows(rows, checkpoint.arrays.array, weights, checkpoint.source)
    return model


def _chosen(checkpoint: Checkpoint, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of a checkpoint's encoder, updated with `overrides`.

    Raises:
        ValueError: If the arrays of the checkpoint do not allow the value of an option.
    """
    theirs = checkpoint.options
    source = checkpoint.source
    for name in FIXED:
        own = theirs.get(name)
        if name not in checkpoint.unspecified and overrides.get(name, own) != own:
            raise ValueError(
                f"`{name}` of {source} is {own!r} and cannot be changed, since the arrays "
                f"depend on it; got {overrides[name]!r}. Omit `{name}`."
            )
    for name, what in ("num_layers", "layers"), ("max_sequence_length", "positions"):
        if theirs["positions"] != "learned" and name == "max_sequence_length":
            continue
        wanted = overrides.get(name, theirs[name])
        if not isinstance(wanted, int) or not 1 <= wanted <= theirs[name]:
            raise ValueError(
                f"`{name}` must be an int from 1 to {theirs[name]}, since {source} has "
                f"{theirs[name]} {what}; got {wanted!r}."
            )
    pooler = has(pooler_rows(checkpoint.names, theirs), checkpoint.arrays.shapes)
    return {**theirs, "pooler": pooler, **overrides}


def _ignored(checkpoint: Checkpoint) -> set[str]:
    """Returns the names of arrays that a model need not use, such as arrays of omitted layers."""
    names = checkpoint.names
    options = {**checkpoint.options, "pooler": True}
    known = [*encoder_rows(names, options), *masked_lm_rows(names, options)]
    known += [*next_sentence_rows(names, options), *label_rows(names, options, 1)]
    return {
        *(row.foreign for row in known),
        *(name for name in checkpoint.arrays.shapes if names.without_use(name)),
    }


def _head(checkpoint: Checkpoint, model: type, other: str) -> tuple[list[str], list[Row]]:
    """Returns the labels of a checkpoint's head, and a `Row` for each of its arrays.

    Raises:
        ValueError: If the checkpoint has no label or tag head, or if the config names a class that
            ends in `other` or in "ForMultipleChoice". `model` cannot read the heads of such
            classes.
    """
    names = checkpoint.names
    shapes = checkpoint.arrays.shapes
    source = checkpoint.source
    rows = label_rows(names, checkpoint.options, 1)
    made_for = checkpoint.config
    if not has(rows, shapes):
        raise ValueError(
            f"{source} has no label or tag head. To start with a new head, use "
            f"{model.__name__}(BertEncoder.from_pretrained(...), ...)."
        )
    kinds = made_for.get("architectures") or ()
    if any(str(kind).endswith((other, "ForMultipleChoice")) for kind in kinds):
        raise ValueError(
            f"{source} has the head of {', '.join(kinds)}, which {model.__name__} cannot read: "
            "`Classifier` reads heads of labels, and `Tagger` heads of tags. Use the other class, "
            f"or start with a new head: {model.__name__}(BertEncoder.from_pretrained(...), ...)."
        )
    count = (*shapes.get(rows[0].foreign, ()), 1)[0]
    return (
        hugging_face_config.label_names(made_for, count, source),
        label_rows(names, checkpoint.options, count),
    )


def _second_task(checkpoint: Checkpoint) -> tuple[list[str], list[Row]]:
    """Returns the labels of the next-sentence head, and a `Row` for each of its arrays.

    The labels are "next" and "other", in the order of their ids. A ValueError is raised if the
    checkpoint has no next-sentence head.
    """
    rows = next_sentence_rows(checkpoint.names, checkpoint.options, "head")
    if not has(rows, checkpoint.arrays.shapes):
        raise ValueError(
            f"`next_sentence` must be False, because {checkpoint.source} has no next-sentence "
            "head; got True."
        )
    labels = ["next", "other"]
    return labels[::-1] if checkpoint.next_label else labels, rows


def _renamed(
    found: list[str], given: Sequence[str] | None, option: str, checkpoint: Checkpoint
) -> list[str]:
    if given is not None and len(given) != len(found):
        raise ValueError(
            f"`{option}` must have {len(found)} names, one for each class of the head "
            f"of {checkpoint.source}; got {list(given)}."
        )
    return list(found if given is None else given)


def _check_tied(checkpoint: Checkpoint) -> None:
    """Raises a ValueError if the masked-LM head does not share the token table of the encoder.

    A ValueError is also raised if the head has two biases with different values.
    """
    names = checkpoint.names
    arrays = checkpoint.arrays
    source = checkpoint.source
    if not isinstance(names, HuggingFaceNames):
        return
    again = names.family.decoder
    biases = names.family.token_biases
    table = names.table(WORDS, (0, 0), "").foreign
    if again not in arrays.shapes and not checkpoint.config.get("tie_word_embeddings", True):
        raise ValueError(
            f"{source}: `tie_word_embeddings` is false, but the array {again} is missing. Set the "
            "option to true if the masked-LM head uses the encoder's token table."
        )
    for first, second in (table, again), *itertools.pairwise(biases):
        if {first, second} <= set(arrays.shapes) and not np.array_equal(
            arrays.array(first), arrays.array(second)
        ):
            raise ValueError(
                f"{source}: {second} differs from {first}, but BertPretrainer scores tokens with "
                "the encoder's token table and one bias. To start with a new masked-LM head, use "
                "BertPretrainer(BertEncoder.from_pretrained(...))."
            )
