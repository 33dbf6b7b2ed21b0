"""Small BERT checkpoints on disk, with the outputs that transformers computes for them."""

import json
import pathlib

import numpy as np
import tensorflow as tf

from benchmarks.bert_cases import array_of, config_of, fixture_name, inputs_of, shapes_of, write
from tests.closeness import assert_close

# Written by `python -m benchmarks.bert_parity --fixtures`: float32 at real tokens, to 6 places.
EXPECTED = json.loads(
    (pathlib.Path(__file__).parent / "fixtures" / "transformers_bert.json").read_text()
)
USUAL = {
    **{"kind": "BertForPreTraining", "activation": "gelu", "sizes": "usual"},
    **{"style": "late", "prefix": "bert.", "files": "single"},
}
TERMS = 1024  # three blocks, each of six sums of 16 to 64 terms; the original is rounded, too
UNUSUAL = {**USUAL, "activation": "gelu_new", "sizes": "unusual"}


def hugging_face(folder, case=USUAL, change=None, config=None, **changes):
    """Writes a Hugging Face folder; `change` may change the dict of arrays in place."""
    case = {**case, **changes}
    arrays = arrays_of(case)
    if change is not None:
        change(arrays)
    write(case, folder, arrays)
    if config is not None:
        path = folder / "config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **config}))
    return folder


def google(folder, arrays, config):
    """Writes a Google folder from arrays under Google's names."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bert_config.json").write_text(json.dumps(config))
    write_checkpoint(folder / "bert_model.ckpt", arrays)
    return folder


def write_checkpoint(path, arrays):
    """Writes arrays as `tf.compat.v1.train.Saver` writes variables, without a graph of them."""
    slices, tensors = [""] * len(arrays), [tf.constant(array) for array in arrays.values()]
    tf.raw_ops.SaveV2(
        prefix=str(path), tensor_names=[*arrays], shape_and_slices=slices, tensors=tensors
    )


def google_name(name):
    """Returns Google's name of a transformers array."""
    head = name.startswith(("cls.", "classifier"))
    name = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("Norm.bias", "Norm.beta")
    name = name.replace("_embeddings.weight", "_embeddings")
    for theirs, tf1 in (
        *(("classifier.weight", "output_weights"), ("classifier.bias", "output_bias")),
        *(("ship.weight", "ship.output_weights"), ("ship.bias", "ship.output_bias")),
        *(("predictions.bias", "predictions.output_bias"), (".weight", ".kernel")),
    ):
        if name.endswith(theirs):
            name = name[: -len(theirs)] + tf1
            break
    return ("" if head else "bert/") + name.replace(".layer.", ".layer_").replace(".", "/")


def as_google(arrays):
    """Returns the transformers arrays under Google's names, transposed where needed."""
    found = {google_name(name): array for name, array in arrays.items()}
    return {name: x.T if name.endswith("kernel") else x for name, x in found.items()}


def arrays_of(case):
    shapes = shapes_of(config_of(case), case["kind"])
    return {name: array_of(name, shape) for name, shape in shapes.items()}


def google_config(case):
    """Returns Google's config of a case: no epsilon, no labels, and gelu is the approximation."""
    names = "vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"
    names += "max_position_embeddings", "intermediate_size", "type_vocab_size"
    config = config_of(case)
    return {
        **{name: config[name] for name in names},
        "hidden_act": "gelu",
        "directionality": "bidi",
    }


def check(model, case):
    """Compares all outputs of a model with transformers, at real tokens and for each text."""
    expected = EXPECTED[fixture_name(case)]
    ids, segments, mask = inputs_of(config_of(case))
    features = {"token_ids": ids, "segment_ids": segments, "mask": mask}
    features["masked_positions"] = np.tile(np.arange(ids.shape[1]), (len(ids), 1))
    found = {name: np.asarray(value) for name, value in model(features).items()}
    if "layer_outputs" in found:
        layers = np.moveaxis(found["layer_outputs"], 1, 2)[:, :, [1, 3]]  # [B, T, 2, D]
        found["layer_outputs"] = layers
    compared = set(expected) & set(found)
    assert compared
    for name in compared:
        rows = found[name][mask] if found[name].shape[:2] == mask.shape else found[name]
        assert_close(rows, expected[name], terms=TERMS, name=name)
    return compared
