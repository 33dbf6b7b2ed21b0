"""Reads the signatures of an exported SavedModel without loading the model."""

import re
from typing import NamedTuple

from apache_beam.io.filesystems import FileSystems
from tensorflow import as_dtype
from tensorflow.core.protobuf import saved_model_pb2

# The outputs that are written by default: of a tagger, a classifier and an encoder.
TAGS = ["tokens", "tags", "confidences", "spans"]
LABELS = ["label", "probability", "labels", "probabilities"]
VECTORS = ["default"]
SPAN_PARTS = "span_types", "span_starts", "span_ends", "num_spans"


class OutputSpec(NamedTuple):
    """Output of a signature: a data type such as `"float32"`, and a size or None for each axis."""

    dtype: str
    shape: tuple[int | None, ...]


def version_folder(export: str) -> str:
    """Returns the folder itself if it is a SavedModel, else its newest version.

    Args:
        export: str. Folder on any of Beam's file systems.

    Raises:
        ValueError: If the folder has neither `saved_model.pb` nor a version that has one.
    """
    export = export.rstrip("/") or export
    if FileSystems.exists(FileSystems.join(export, "saved_model.pb")):
        return export
    found = FileSystems.match([FileSystems.join(export, "*", "saved_model.pb")])[0].metadata_list
    folders = [FileSystems.split(file.path)[0].rstrip("/") for file in found]
    versions = [f for f in folders if re.fullmatch("[0-9]+", FileSystems.split(f)[1])]
    if not versions:
        raise ValueError(
            f"{export} is not a SavedModel: it has no saved_model.pb and no version that has one. "
            "Expected a folder written by `tfreps export`."
        )
    return max(versions, key=lambda folder: int(FileSystems.split(folder)[1]))


def read_outputs(folder: str, signature: str = "default") -> dict[str, OutputSpec]:
    """Returns the outputs of a signature.

    Args:
        folder: str. Version folder of an export.
        signature: str. `"default"` or `"tokens"`. Defaults to `"default"`.

    Returns:
        dict of output name -> `OutputSpec`.

    Raises:
        ValueError: If `saved_model.pb` cannot be read, or if the SavedModel has no such signature
            that reads strings.
    """
    path = FileSystems.join(folder, "saved_model.pb")
    try:
        with FileSystems.open(path) as file:
            model = saved_model_pb2.SavedModel.FromString(file.read())
        found = dict(model.meta_graphs[0].signature_def)
    except Exception as error:
        raise ValueError(
            f"{path} is not a SavedModel ({one_line(error)}). Expected a file written by `tfreps "
            "export`."
        ) from error
    wanted = {"default": {"text"}, "tokens": {"tokens", "sequence_len"}}[signature]
    if signature not in found or set(found[signature].inputs) != wanted:
        strings = sorted(name for name in found if not name.startswith("__"))
        raise ValueError(
            f"{folder} has no signature `{signature}` that reads strings; it has "
            f"{', '.join(strings) or 'none'}. Export a model with its vocabulary by `tfreps "
            "export`."
        )
    return {
        name: OutputSpec(
            as_dtype(info.dtype).name,
            tuple(None if dim.size < 0 else dim.size for dim in info.tensor_shape.dim),
        )
        for name, info in found[signature].outputs.items()
    }


def chosen_names(outputs: dict[str, OutputSpec], asked: list[str] | None = None) -> list[str]:
    """Returns the outputs to write, in the form that `signature_rows` reads.

    Args:
        outputs: dict of output name -> `OutputSpec`.
        asked: list of str or None. Names of outputs, or `"spans"`. If `None` (the default), a
            tagger writes tokens, tags, confidences and spans, a classifier its labels and their
            probabilities, and any other model the vector of the text.

    Raises:
        ValueError: If there is no output of an asked name.

    Example:
    >>> outputs = {"default": OutputSpec("float32", (None, 8))}
    >>> outputs["elmo"] = OutputSpec("float32", (None, None, 8))
    >>> chosen_names(outputs)
    ['default']
    >>> chosen_names(outputs, ["elmo"])
    ['elmo:T']
    """
    known = [name for name in outputs if name not in (*SPAN_PARTS, "sequence_len")]
    known += ["spans"] if "span_types" in outputs else []
    if asked is None:
        asked = TAGS if "tags" in outputs else LABELS if "label" in outputs else VECTORS
        asked = [name for name in asked if name in known]
    for name in asked:
        if name not in known:
            raise ValueError(
                f"`outputs` contains {name!r}, which the signature does not return. It returns "
                f"{', '.join(sorted(known))}."
            )
    return [f"{name}:T" if is_per_token(outputs.get(name)) else name for name in asked]


def is_per_token(spec: OutputSpec | None) -> bool:
    """Returns True if an output has a second axis whose size varies, that of the tokens."""
    return spec is not None and len(spec.shape) > 1 and spec.shape[1] is None


def one_line(error: Exception) -> str:
    """Returns the message of an error as one line."""
    return " ".join(str(error).split())[:300] or type(error).__name__
