"""write_portable_export: writes a model for ONNX Runtime or LiteRT, with a program that runs it."""

import json
import os
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import tensorflow as tf

from tfreps._src.export.export_check import SENTENCES, check_output
from tfreps._src.export.export_folder import WARM_UP_TEXTS
from tfreps._src.export.portable.converters import check_packages, convert, in_float32
from tfreps._src.export.portable.int8_changes import MAX_CHANGE, TEXTS, int8_changes
from tfreps._src.export.portable.int8_weights import with_int8_weights
from tfreps._src.export.portable_model import PortableModel, portable_model
from tfreps._src.export.signature_base import Signatures
from tfreps._src.files.atomic_files import replacing
from tfreps._src.files.version_folders import next_version
from tfreps._src.inference import run
from tfreps._src.inference.opening_exports import DEFAULT_ENGINE

Format = Literal["onnx", "litert"]
FILES: dict[Format, str] = {"onnx": "model.onnx", "litert": "model.tflite"}
RUNTIMES: dict[Format, str] = {"onnx": "onnxruntime", "litert": "ai-edge-litert"}
CLOSE = 1e-3  # largest difference of probabilities and vectors that is not an error
AXES = {
    "token_ids": "[N, T]",
    "character_ids": "[N, T, C]",
    "piece_ids": "[N, T, W]",
    "mask": "[N, T]",
    "sequence_len": "[N]",
    "tags": "[N, T]",
    "confidences": "[N, T]",
    "span_types": "[N, S]",
    "span_starts": "[N, S]",
    "span_ends": "[N, S]",
    "span_confidences": "[N, S]",
    "probabilities": "[N, K]",
    "vectors": "[N, D]",
    "default": "[N, D]",
    "pooled_output": "[N, D]",
    "word_emb": "[N, T, P]",
}
OTHER_AXES = "[N, T, D]"  # axes of outputs with a vector per token
README = """\
# {name}

{title}, written by `tfreps export` for {runtime}. It needs no TensorFlow:

```bash
pip install numpy {runtime}
python run.py "The dog sat on the mat ."
```

The program reads a text, calls the model and prints a line of JSON. The class `Model` in run.py
does the same in other programs, which can also call {file} themselves:

| input | type | shape |
|---|---|---|
{inputs}

| output | type | shape |
|---|---|---|
{outputs}

N is the number of texts. T is the number of tokens of the longest text, at least 1. C, W, S, K, D
and P are the numbers of characters, pieces, spans, labels and dimensions. Ids are 0 on padding,
except for pieces. Tags, labels and types of spans are indices into the lists in model.json, and the
type of a span is -1 on padding.

| file | contents |
|---|---|
| `{file}` | the model |
| `vocabulary.txt` | the tokens or pieces in the order of their ids |
| `model.json` | tags or labels, and how a text becomes tokens and ids |
| `run.py` | the program, an example of how to use these files |
"""


class WrittenPortableExport(NamedTuple):
    """Result of `write_portable_export`.

    Attributes:
        folder: `pathlib.Path`. Folder of the version.
        version: int. Number of the version.
        size: int. Size of the model in bytes.
        difference: float. Largest difference between an output of the runtime and the same output
            of the original model, for a few texts, both in float32.
        changes: str. Message that describes how the outputs change because the weights are stored
            as int8. It is empty for float32.
    """

    folder: pathlib.Path
    version: int
    size: int
    difference: float
    changes: str = ""


def write_portable_export(
    signatures: Signatures,
    base: str | os.PathLike[str],
    format: Format = "onnx",
    weight_dtype: Literal["float32", "int8"] = "float32",
    check_texts: Sequence[str] = TEXTS,
    max_change: float = MAX_CHANGE,
) -> WrittenPortableExport:
    """Writes the next version of a model for ONNX Runtime or LiteRT, which need no TensorFlow.

        base/1/, base/2/ ...    versions, each with
            model.onnx or model.tflite    the model: ids in; tags and spans, labels or vectors out
            vocabulary.txt, model.json    tokens, tags or labels, and how text becomes ids
            run.py                        a program that reads texts and prints the outputs; it
                                          needs NumPy and the runtime
            README.md                     the inputs and outputs

    The model accepts any number of texts and tokens, uses only operations that the runtime itself
    has, and computes in float32, except for matrix multiplications with int8 weights. The version
    is created only if the runtime and the original model give the same outputs in float32 for a few
    texts, and if int8 weights change the outputs for `check_texts` by at most `max_change`.

    Args:
        signatures: Result of `open_for_export`.
        base: str or path-like. Folder of the model, which may already contain versions.
        format: str. `"onnx"` for ONNX Runtime, or `"litert"` for LiteRT, the former TensorFlow
            Lite. The extra of tfreps with this name installs what the conversion needs. Defaults to
            `"onnx"`.
        weight_dtype: str. `"float32"`, or `"int8"` for an ONNX file of about a quarter of the size
            whose matrix multiplications are faster, but rounded. Defaults to `"float32"`.
        check_texts: sequence of str. Texts for which the outputs with int8 weights are compared
            with those in float32. Texts of the task of the model are best. Defaults to a few
            English and Chinese sentences.
        max_change: float. Largest change of the outputs that is accepted: the share of tokens whose
            tags change, the share of texts whose labels change, or 1 minus the mean cosine
            similarity of the vectors of texts. Defaults to 0.05.

    Returns:
        named tuple `(folder, version, size, difference, changes)`: the `pathlib.Path` of the
        version and its number, the size of the model in bytes, the largest difference that the
        comparison found, and a message with the changes of the outputs by int8 weights.

    Raises:
        ValueError: If `format` is unknown, a package for it is not installed, `base` is a file,
            `base` contains SavedModels, the model reads token ids and has no vocabulary, a token of
            the vocabulary contains a line feed, the model contains a `ManyLangsBiLM`, the outputs
            differ, `weight_dtype` does not exist for the format, no weights can be stored as int8,
            or int8 weights change the outputs by more than `max_change`.
    """
    if format not in FILES:
        raise ValueError(f"`format` must be one of {', '.join(map(repr, FILES))}; got {format!r}.")
    known = ["float32", "int8"] if format == "onnx" else ["float32"]
    if weight_dtype not in known:
        raise ValueError(
            f"`weight_dtype` must be {' or '.join(known)} for the format {format!r}; got "
            f"{weight_dtype!r}. Choose another type or format."
        )
    check_packages(format)
    base = pathlib.Path(base)
    if base.is_file():
        raise ValueError(f"{base} is a file; expected a folder or a new path. Choose another path.")
    if not signatures.reads_text:
        raise ValueError(
            "The model must have a vocabulary, because the exported program reads text; got a "
            "model that reads only token ids. Load the model again with its vocabulary."
        )
    model = portable_model(signatures)
    broken = [token for token in model.vocabulary if "\n" in token]
    if broken:
        raise ValueError(
            f"The vocabulary contains the token {broken[0]!r}, whose line feed vocabulary.txt "
            "cannot represent. Replace the token, or export a SavedModel."
        )
    models = signatures.weights.models
    content = convert(format, model, models)
    version = next_version(base)
    if (base / str(version - 1) / "saved_model.pb").exists():
        raise ValueError(
            f"{base} must not contain SavedModels, because servers read only the newest "
            f"version in a folder; version {version - 1} is a SavedModel. Export for "
            f"{RUNTIMES[format]} to another folder."
        )
    with replacing(base / str(version), parents=True) as folder:
        folder.mkdir()
        _write(folder, format, model, content)
        program = run.Model(folder)
        with in_float32(models):
            difference = _largest_difference(program, model)
        changes = ""
        if weight_dtype == "int8":
            content = with_int8_weights(content)
            (folder / FILES[format]).write_bytes(content)
            program, wide = run.Model(folder), program
            changes = int8_changes(wide, program, check_texts, max_change)
        _, features = program.read(program.tokenize(WARM_UP_TEXTS[0][0]))
        outputs = program.function(program.inputs([features]))
        title = signatures.title + (", with int8 weights" if changes else "")
        readme = _readme(title, base.name, format, model, outputs)
        (folder / "README.md").write_text(readme, encoding="utf-8")
    return WrittenPortableExport(base / str(version), version, len(content), difference, changes)


def _write(folder: pathlib.Path, format: Format, model: PortableModel, content: bytes) -> None:
    (folder / FILES[format]).write_bytes(content)
    about = {"format": format, "file": FILES[format], "engines": _engines(format, model)}
    text = json.dumps({**about, **model.description()}, ensure_ascii=False, indent=1) + "\n"
    (folder / "model.json").write_text(text, encoding="utf-8")
    lines = "".join(token + "\n" for token in model.vocabulary)
    (folder / "vocabulary.txt").write_bytes(lines.encode("utf-8"))
    (folder / "run.py").write_bytes(pathlib.Path(run.__file__).read_bytes())


def _engines(format: Format, model: PortableModel) -> list[str]:
    """Returns a list of the engines that run a model; the first one is the default.

    OpenVINO computes int64 in 32 bits, which changes the hashes of a `LinearEncoder`.
    """
    more = ["openvino"] if format == "onnx" and not model.hashes else []
    return [DEFAULT_ENGINE[format], *more]


def _largest_difference(program: run.Model, model: PortableModel) -> float:
    """Compares the outputs of the converted model with the outputs of the original for some texts.

    `program` is the converted model as `run.py` loads it, and `model` is the original. Returns the
    largest difference. Raises a ValueError that names the text and the output if the difference is
    larger than `CLOSE`, or if `run.py` splits a text into another number of tokens.
    """
    expect = tf.function(model.function, autograph=False)
    largest = 0.0
    try:
        for texts in (*WARM_UP_TEXTS, SENTENCES):
            read = [program.read(program.tokenize(text)) for text in texts]
            inputs = program.inputs([features for _, features in read])
            features = model.read(tf.constant(texts))
            _check_lengths(inputs, features, texts)
            found = program.function(inputs)
            for name, value in expect({name: features[name] for name in model.specs}).items():
                value = value.numpy()
                # The converted model may return more padding after the last span of a text.
                own = found[name][:, : value.shape[1]] if name.startswith("span_") else found[name]
                output = f"the output {name!r}"
                largest = max(largest, check_output(output, own, value, CLOSE, texts))
    except ValueError as error:
        raise ValueError(
            f"The converted model failed its check, so no version was written: {error} Export a "
            "SavedModel instead, and report this as a bug."
        ) from error
    return largest


def _check_lengths(
    inputs: Mapping[str, np.ndarray], features: Mapping[str, Any], texts: Sequence[str]
) -> None:
    """Raises a ValueError if `run.py` and the original model count different numbers of tokens.

    `inputs` are the inputs that `run.py` computed from `texts`, and `features` those of the
    original model. Both have the entry `mask`, `[N, T]`, or `sequence_len`, `[N]`.
    """
    found, expected = (
        np.sum(each["mask"], axis=1) if "mask" in inputs else np.asarray(each["sequence_len"])
        for each in (inputs, features)
    )
    for text, own, wanted in zip(texts, found, expected, strict=True):
        if own != wanted:
            raise ValueError(
                f"run.py splits the text {text!r} into {own} tokens; the original model splits "
                f"this text into {wanted} tokens."
            )


def _readme(
    title: str, base: str, format: Format, model: PortableModel, outputs: Mapping[str, np.ndarray]
) -> str:
    inputs = "\n".join(
        f"| `{name}` | {spec.dtype.name} | {AXES.get(name, OTHER_AXES)} |"
        for name, spec in model.specs.items()
    )
    found = "\n".join(
        f"| `{name}` | {value.dtype} | {AXES.get(name, OTHER_AXES)} |"
        for name, value in sorted(outputs.items())
    )
    return README.format(
        name=base,
        title=title[0].upper() + title[1:],
        runtime=RUNTIMES[format],
        file=FILES[format],
        inputs=inputs,
        outputs=found,
    )
