"""Functional and Sequential Keras models as encoders: their width, outputs and inputs."""

import keras
import tensorflow as tf

from tfreps._src.layers.ops.hidden_masks import (
    BY_NAME,
    check_merged_masks,
    creates_mask,
    hidden_mask,
)
from tfreps._src.layers.ops.masks import full_mask

_THEN = 'return `{"sequence_output": x, "mask": mask}`'


def width_of(encoder: keras.Model, name: str = "sequence_output") -> int | None:
    """Returns the width of the output `name` of an encoder, or `None` if there is no such output.

    `name` is `"sequence_output"` or `"pooled_output"`. Encoders of tfreps have the widths of these
    outputs as the attributes `output_dim` and `pooled_dim`.
    """
    attribute, rank = {"sequence_output": ("output_dim", 3), "pooled_output": ("pooled_dim", 2)}[
        name
    ]
    if hasattr(encoder, attribute):
        return getattr(encoder, attribute)
    if not _has_graph(encoder):
        return None
    # A `Sequential` has no `input` and `output`.
    is_sequence = isinstance(encoder, keras.Sequential)
    output = _only(encoder.outputs if is_sequence else encoder.output)
    if isinstance(output, dict):
        output = output.get(name)
    elif name != "sequence_output":
        return None
    shape = getattr(output, "shape", ())
    return shape[-1] if len(shape) == rank else None


def encoded(encoder: keras.Model, features: object, training: bool = False) -> dict[str, tf.Tensor]:
    """Calls an encoder, and returns its outputs as a dict with `sequence_output` and `mask`.

    For a plain Keras model whose output has no `mask`, the mask that Keras computes is returned or,
    if no layer creates one, a mask that is True everywhere.
    """
    outputs = encoder(features, training=training)
    if not isinstance(outputs, dict):
        outputs = {"sequence_output": _only(outputs)}
    x = outputs["sequence_output"]
    mask = outputs["mask"] if "mask" in outputs else hidden_mask(x)
    if mask is None and creates_mask(encoder):
        raise ValueError(
            "`encoder` must return its mask, because a layer or operation of the Keras model "
            "drops it; got an output without a mask, so padding would count as real tokens. "
            f"{BY_NAME} {_THEN}."
        )
    return {**outputs, "mask": full_mask(mask, x)}


def check_masks(encoder: keras.Model) -> None:
    """Raises a ValueError if Keras computes a wrong mask in a functional or Sequential model."""
    if _has_graph(encoder):
        check_merged_masks(encoder, _THEN)


def inputs_of(model: keras.Model) -> list:
    """Returns the input specs of a functional or Sequential model, one item per accepted form.

    If the inputs are a list and have names, a dict of them is also accepted. For other models, the
    result is an empty list.
    """
    if not _has_graph(model):
        return []
    inputs = _only(model.inputs if isinstance(model, keras.Sequential) else model.input)
    if isinstance(inputs, dict):
        return [{name: _spec(tensor, name) for name, tensor in inputs.items()}]
    named = {tensor.name: _spec(tensor) for tensor in keras.tree.flatten(inputs)}
    has_names = isinstance(inputs, list | tuple) and all(n == s.name for n, s in named.items())
    return [keras.tree.map_structure(_spec, inputs), *([named] if has_names else [])]


def _has_graph(model):
    """Returns True for a functional model, and for a Sequential one whose input is known."""
    return isinstance(model, keras.Model) and bool(getattr(model, "inputs", None))


def _only(structure):
    """Returns the only item of a list or tuple of length 1, and other structures unchanged."""
    is_list = isinstance(structure, list | tuple) and len(structure) == 1
    return structure[0] if is_list else structure


def _spec(tensor, name=None):
    given = name or tensor.name
    # Keras generates names such as keras_tensor_12, which mean nothing to users.
    name = "inputs" if given.startswith("keras_tensor") else given
    return tf.TensorSpec(tensor.shape, tensor.dtype, name)
