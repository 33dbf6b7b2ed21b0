"""Reads the signatures of an exported SavedModel without loading the model."""

import re

import pyarrow as pa
import tensorflow as tf
from apache_beam.io.filesystems import FileSystems
from tensorflow.core.protobuf import saved_model_pb2

from tfreps._src.inference.export_outputs import output_names

# The outputs that are written by default: of a tagger, a classifier, and an encoder or embedder.
TAGS = ["tokens", "tags", "confidences", "spans"]
LABELS = ["label", "probability", "labels", "probabilities"]
VECTORS = ["default", "vectors"]
SPAN = pa.struct(
    [("type", pa.string()), ("start", pa.int32()), ("end", pa.int32())]
    + [("start_char", pa.int32()), ("end_char", pa.int32())]
    + [("tokens", pa.list_(pa.string())), ("text", pa.string()), ("confidence", pa.float32())]
)
ARROW = {"string": pa.string(), "float32": pa.float32(), "int32": pa.int32(), "int64": pa.int64()}


def version_folder(export):
    """Returns the path `export` if it is a SavedModel, otherwise the path of its newest version.

    The folder may be on any of Beam's file systems. A ValueError is raised if it has no SavedModel.
    """
    export = export.rstrip("/") or export
    if FileSystems.exists(FileSystems.join(export, "saved_model.pb")):
        return export
    found = FileSystems.match([FileSystems.join(export, "*", "saved_model.pb")])[0].metadata_list
    folders = [FileSystems.split(file.path)[0].rstrip("/") for file in found]
    versions = [f for f in folders if re.fullmatch("[0-9]+", FileSystems.split(f)[1])]
    if not versions:
        raise ValueError(
            f"{export} is not a SavedModel: it contains neither a saved_model.pb nor a "
            "numbered version with one. Expected a folder written by `tfreps export`."
        )
    return max(versions, key=lambda folder: int(FileSystems.split(folder)[1]))


def read_outputs(folder, signature="default"):
    """Returns a dict from the names of a signature's outputs to their `tf.TensorSpec`s.

    `folder` is a SavedModel, and `signature` is `"default"` or `"tokens"`.

    Raises:
        ValueError: If the SavedModel cannot be read, or the signature is missing or does not read
            strings.
    """
    path = FileSystems.join(folder, "saved_model.pb")
    try:
        with FileSystems.open(path) as file:
            model = saved_model_pb2.SavedModel.FromString(file.read())
        found = dict(model.meta_graphs[0].signature_def)
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(
            f"{path} is not a SavedModel ({reason}). Expected a file written by `tfreps export`."
        ) from error
    inputs = {"default": {"text"}, "tokens": {"tokens", "sequence_len"}}[signature]
    if signature not in found or set(found[signature].inputs) != inputs:
        strings = sorted(name for name in found if not name.startswith("__"))
        raise ValueError(
            f"{folder} has no signature `{signature}` that reads strings; it has "
            f"{', '.join(strings) or 'none'}. Export a model with its vocabulary by `tfreps "
            "export`."
        )
    return {
        name: tf.TensorSpec(tf.TensorShape(info.tensor_shape), info.dtype)
        for name, info in found[signature].outputs.items()
    }


def chosen_names(outputs, wanted=None):
    """Returns a list of the names of outputs, in the form that `signature_rows` accepts.

    `outputs` is the result of `read_outputs`. If `wanted`, a sequence of names, is `None`, the list
    has the outputs that `Annotate` adds by default. A ValueError is raised for an unknown name.

    Example:
    >>> outputs = {"default": tf.TensorSpec((None, 8)), "elmo": tf.TensorSpec((None, None, 8))}
    >>> chosen_names(outputs)
    ['default']
    >>> chosen_names(outputs, ["elmo"])
    ['elmo:T']
    """
    names = output_names({name: spec.shape for name, spec in outputs.items()})
    known = {name.partition(":")[0]: name for name in names}
    if wanted is None:
        wanted = TAGS if "tags" in outputs else LABELS if "label" in outputs else VECTORS
        wanted = [name for name in wanted if name in known]
    for name in wanted:
        if name not in known:
            raise ValueError(
                f"`outputs` contains {name!r}, which the signature does not return. It returns "
                f"{', '.join(sorted(known))}."
            )
    return [known[name] for name in wanted]


def added_schema(outputs, names, prefix=""):
    """Returns the Arrow schema of the fields that a model adds to a record.

    `outputs` is the result of `read_outputs`, and `names` is the result of `chosen_names`.

    Example:
    >>> added_schema({"tags": tf.TensorSpec((None, None), tf.string)}, ["tags:T"])
    tags: list<item: string>
      child 0, item: string
    """
    fields = []
    for name in (name.partition(":")[0] for name in names):
        if name == "spans":
            kind = pa.list_(SPAN)
        else:
            kind = ARROW[outputs[name].dtype.name]
            for _ in outputs[name].shape[1:]:
                kind = pa.list_(kind)
        fields.append(pa.field(prefix + name, kind))
    return pa.schema(fields)
