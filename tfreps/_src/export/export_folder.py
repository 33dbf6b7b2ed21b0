"""write_export: writes the next version of a model, its README and configuration files."""

import json
import os
import pathlib
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from tfreps._src.export.export_check import check_export
from tfreps._src.export.notes import check_notes, model_name, write_notes
from tfreps._src.export.signature_base import Signatures
from tfreps._src.files.atomic_files import replacing
from tfreps._src.files.json_files import write_json
from tfreps._src.files.version_folders import next_version
from tfreps._src.inference.opening_exports import MODEL_JSON, SAVED_MODEL

# File that says how to count the tokens of texts, for servers that limit requests.
COUNTS = "tfreps_counts.json"
WARM_UP = "tf_serving_warmup_requests"
WARM_UP_TEXTS = (
    ["The dog sat on the mat ."],
    [
        "Ada Lovelace lived in London .",
        "",
        "A longer sentence , with a few more words in it .",
        "你好",
    ],
)


class WrittenExport(NamedTuple):
    """Result of `write_export`.

    Attributes:
        folder: `pathlib.Path`. Folder of the version.
        version: int. Number of the version.
        functions: dict from the names of signatures to concrete functions.
        num_warm_up: int or None. Number of warm-up requests. It is `None` if the package
            tensorflow-serving-api is not installed.
        difference: float or None. Largest difference between the outputs of the export and those of
            the model, as `check_export` returns it, or `None` if the export was not checked.
    """

    folder: pathlib.Path
    version: int
    functions: dict[str, Any]
    num_warm_up: int | None
    difference: float | None


def write_export(
    signatures: Signatures,
    base: str | os.PathLike[str],
    check: bool | str | os.PathLike[str] = False,
    overwrite: bool = False,
) -> WrittenExport:
    """Writes the next version of an exported model.

        base/1/, base/2/ ...    versions, each a SavedModel with warm-up requests, a description
                                of its tokenization for servers that limit the tokens in a request,
                                and the description that `tfreps.load` reads
        base/README.md          description, inputs and outputs, and example requests
        base/models.config, base/batching.config    configuration of TensorFlow Serving

    The version and each file are written atomically. The README describes the newest version.

    Args:
        signatures: Result of `open_for_export`.
        base: str or path-like. Folder of the model, which may already contain versions. Its name is
            the name of the model.
        check: bool, str or path-like. If `True`, a new process runs the new version without tfreps,
            and the version is written only if its outputs match those of the model. A path selects
            the Python interpreter of the process, which may have a different version of
            TensorFlow. Defaults to `False`.
        overwrite: bool. Whether to replace a README.md, models.config or batching.config that
            tfreps did not write. Defaults to `False`.

    Returns:
        named tuple `(folder, version, functions, num_warm_up, difference)`: the `pathlib.Path` of
        the version and its number, the concrete function of each signature by name, the number of
        warm-up requests (`None` if the package tensorflow-serving-api is not installed), and the
        largest difference that the check found (`None` without a check).

    Raises:
        ValueError: If `base` is a file, if it contains a README.md, models.config or
            batching.config that tfreps did not write and `overwrite` is `False`, if the signatures
            cannot be built, if no larger version number is possible, or if `check` is set and the
            check fails or no signature reads text.
    """
    base = pathlib.Path(base)
    if base.is_file():
        raise ValueError(f"{base} is a file; expected a folder or a new path. Choose another path.")
    check_notes(base, overwrite)
    functions = signatures.functions()
    version = next_version(base)
    difference = None
    with replacing(base / str(version), parents=True) as folder:
        # Custom gradients are for training, and servers do not train.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(signatures.module(functions), str(folder), functions, options)
        extra = folder / "assets.extra"
        extra.mkdir()
        counts = json.dumps(signatures.text_counts) + "\n"
        (extra / COUNTS).write_text(counts, encoding="utf-8")
        if signatures.description is not None:
            about = {"format": SAVED_MODEL, "engines": [], **signatures.description}
            write_json(extra / MODEL_JSON, about, ensure_ascii=False)
        num_warm_up = write_warm_up(extra / WARM_UP, model_name(base), functions)
        if check:
            python = sys.executable if check is True else check
            difference = check_export(signatures, functions, folder, python)
    write_notes(base, version, signatures, functions, overwrite)
    return WrittenExport(base / str(version), version, functions, num_warm_up, difference)


def write_warm_up(path: pathlib.Path, name: str, functions: Mapping[str, Any]) -> int | None:
    """Writes the warm-up requests, which TensorFlow Serving runs before it serves a version.

    The requests call every signature, aliases such as `serving_default` included, because the first
    call of a signature, in which TensorFlow prepares its graph, takes seconds. `path` is the file
    to write, `name` the name of the model, and `functions` maps each signature to its concrete
    function. Returns the number of requests. If the package tensorflow-serving-api is not
    installed, writes no file and returns `None`.
    """
    try:
        from tensorflow_serving.apis import predict_pb2, prediction_log_pb2
    except ImportError:
        return None
    requests = [(key, inputs) for key in functions for inputs in _inputs(functions[key])]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for signature, inputs in requests:
            request = predict_pb2.PredictRequest()
            request.model_spec.name = name
            request.model_spec.signature_name = signature
            for key, value in inputs.items():
                request.inputs[key].CopyFrom(value)
            log = prediction_log_pb2.PredictLog(request=request)
            writer.write(prediction_log_pb2.PredictionLog(predict_log=log).SerializeToString())
    return len(requests)


def _inputs(function: Any) -> list[dict[str, Any]]:
    """Returns the inputs of the warm-up requests of a signature, one dict per request.

    A signature that takes only `text` gets a request for each list of `WARM_UP_TEXTS`, and any
    other signature gets one request.
    """
    specs = function.structured_input_signature[1]
    if specs.keys() == {"text"}:
        return [{"text": tf.make_tensor_proto(texts, tf.string)} for texts in WARM_UP_TEXTS]
    return [{key: _one(spec) for key, spec in specs.items()}]


def _one(spec):
    """Returns an input for a warm-up request: a `TensorProto` of ones, or of strings "1".

    Its shape is the shape of `spec`, in which axes of unknown size have length 1.
    """
    ones = np.ones([size or 1 for size in spec.shape], int)
    return tf.make_tensor_proto(ones.astype(str) if spec.dtype == tf.string else ones, spec.dtype)
