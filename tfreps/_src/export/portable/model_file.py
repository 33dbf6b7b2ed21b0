"""write_model: writes a Keras model in memory as one ONNX or LiteRT file."""

import os
import pathlib
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.export.portable.converters import check_packages, convert, in_float32
from tfreps._src.export.portable.portable_export import CLOSE, FILES, Format
from tfreps._src.export.portable_model import PortableModel
from tfreps._src.files.argument_checks import check_choice
from tfreps._src.files.atomic_files import replacing
from tfreps._src.inference import run
from tfreps._src.inference.opening_exports import DEFAULT_ENGINE
from tfreps._src.models.keras_encoder import inputs_of
from tfreps._src.models.model_exports import check_keeps_no_state, flat_outputs
from tfreps._src.models.whole_model import WholeModel

SHAPES = (2, 3), (1, 5)  # sizes of the first two axes in the inputs of the check


def write_model(model: keras.Model, path: str | os.PathLike[str], format: Format = "onnx") -> float:
    """Writes a Keras model as one file for ONNX Runtime or LiteRT, which need no TensorFlow.

    The inputs and outputs of the file are tensors, such as token ids and tags. `model` may be a
    model of tfreps, or a functional or Sequential model with layers of tfreps, such as a `CRF`. A
    `Tagger` has the outputs of its method `tag`. The file is written only if the runtime and the
    model give the same outputs for two batches. To export a model together with its vocabulary and
    a program that reads text, use `write_portable_export`.

    Args:
        model: `keras.Model`. The model, in memory.
        path: str or path-like. File to write, such as `"tagger.onnx"`. An existing file is
            replaced.
        format: str. `"onnx"` for ONNX Runtime, or `"litert"` for LiteRT, the former TensorFlow
            Lite. The extra of tfreps with this name installs what the conversion needs. Defaults to
            `"onnx"`.

    Returns:
        float. Largest difference between an output of the runtime and the same output of the model.

    Raises:
        ValueError: If `format` is unknown, a package for it is not installed, the model does not
            specify its inputs or carries states between calls, an input is a string, the model has
            an operation that the format does not have, or the outputs differ.

    Example:
    >>> import keras
    >>> from tfreps.layers import CRF
    >>> ids = keras.Input([None], dtype="int32", name="ids")  # [B, T]
    >>> emissions = keras.layers.Embedding(10, 3)(ids)
    >>> tags, score = CRF(3)(emissions, mask=ids > 0)
    >>> model = keras.Model(ids, {"tags": tags, "score": score})
    >>> write_model(model, "tagger.onnx") < 1e-5
    True
    >>> import onnxruntime
    >>> session = onnxruntime.InferenceSession("tagger.onnx")
    >>> tags, = session.run(["tags"], {"ids": np.array([[3, 9, 0]], "int32")})
    >>> tags.shape
    (1, 3)
    """
    check_choice(tuple(FILES), format=format)
    check_packages(format)
    check_keeps_no_state(model)
    portable = _portable(model)
    try:
        content = convert(format, portable, [model])
        with replacing(path) as part:
            part.write_bytes(content)
            _, function = run.STARTS[DEFAULT_ENGINE[format]](str(part), None)
            with in_float32([model]):
                return max(_difference(function, portable, shape) for shape in SHAPES)
    except OSError:
        raise
    except Exception as error:
        raise ValueError(
            f"The {type(model).__name__} {model.name!r} could not be written in the format "
            f"{format!r}, so {pathlib.Path(path)} was not written: {error}. Export a SavedModel "
            "with `model.export(folder)` instead."
        ) from error


def _portable(model: keras.Model) -> PortableModel:
    """Returns the model as a function from a dict of its inputs to a dict of its outputs."""
    own = isinstance(model, WholeModel)
    signatures: list[Any] = model._input_signatures() if own else inputs_of(model)
    if not signatures:
        raise ValueError(
            "`model` must be a model of tfreps, or a functional or Sequential Keras model; got a "
            f"{type(model).__name__}, which does not specify its inputs. Put it into a functional "
            "model: `keras.Model(inputs, model(inputs))`."
        )
    signature = signatures[0]
    specs = {spec.name: spec for spec in tf.nest.flatten(signature)}
    texts = [name for name, spec in specs.items() if spec.dtype == tf.string]
    if texts:
        raise ValueError(
            f"The inputs of `model` must be numbers, because neither format has strings; got "
            f"strings in {texts[0]!r}. Create the model on ids."
        )
    call = model._served if own else model

    def function(inputs: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        given = tf.nest.pack_sequence_as(signature, [inputs[name] for name in specs])
        outputs = flat_outputs(call(given))
        if isinstance(outputs, list):
            return {f"output_{number}": output for number, output in enumerate(outputs)}
        return {name: tf.identity(output) for name, output in outputs.items()}

    return PortableModel(model.name, specs, function, lambda texts: {}, [], {})


def _difference(function: Any, portable: PortableModel, shape: tuple[int, int]) -> float:
    """Returns the largest difference of an output for a batch of ones.

    `function` computes the outputs of the runtime. Raises a ValueError if they are not close.
    """
    inputs = {}
    for name, spec in portable.specs.items():
        sizes = [*shape, *[3] * len(spec.shape)]
        axes = [size or sizes[axis] for axis, size in enumerate(spec.shape)]
        inputs[name] = np.ones(axes, spec.dtype.as_numpy_dtype)
    found = function(inputs)
    largest = 0.0
    for name, output in portable.function(inputs).items():
        expected = output.numpy().astype("float64")
        # The runtime may return more padding after the last span of a text.
        ours = found[name][tuple(slice(size) for size in expected.shape)]
        difference = float(np.abs(ours - expected).max(initial=0.0))
        allowed = CLOSE * np.abs(expected).max(initial=1.0)
        if ours.shape != expected.shape or not difference <= allowed:
            raise ValueError(f"its output {name!r} differs by {difference:.2g}")
        largest = max(largest, difference)
    return largest
