"""joined_onnx: one ONNX model from the inputs of a token classifier to tags and spans."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

PREFIX = "decoder/"  # of all names of the decoder, except its outputs
LOWEST_OPSET = 13
LARGEST = 2**31  # bytes of an ONNX file


def model_to_join(path: str | os.PathLike[str], names: Mapping[str, str], num_tags: int) -> Any:
    """Reads an ONNX model, and replaces its outputs with the inputs of a decoder.

    Args:
        path: str or path-like. File of the model.
        names: dict from the inputs of the decoder to the names of tensors of the model, which are
            converted to the types of the inputs. A name that does not exist becomes a new input,
            bool `[B, T]`, except for `logits` and `mask`.
        num_tags: int. Number of tags.

    Returns:
        `onnx.ModelProto`, an argument of `joined_onnx`.

    Raises:
        ValueError: If the file cannot be read, has an operator set below 13, lacks a tensor, or has
            another number of scores.
    """
    model = _read(path)
    if opset_of(model) < LOWEST_OPSET:
        raise ValueError(
            f"{path}: expected the ONNX operator set {LOWEST_OPSET} or later; got "
            f"{opset_of(model)}. Export the model again with a later operator set."
        )
    _connect(path, model, names, num_tags)
    return model


def opset_of(model: Any) -> int:
    """Returns the version of the ONNX operator set of an `onnx.ModelProto`."""
    return next((each.version for each in model.opset_import if each.domain in ("", "ai.onnx")), 1)


def joined_onnx(model: Any, content: bytes, names: Sequence[str]) -> bytes:
    """Joins a decoder to a model, and returns the contents of the file of the result.

    The result has the inputs of the model and the outputs of the decoder. `model` is the result of
    `model_to_join`, `content` the contents of the ONNX file of the decoder, and `names` are the
    inputs of the decoder. Raises a ValueError if the models cannot be joined.
    """
    import onnx
    from onnx import compose, version_converter

    decoder = onnx.load_model_from_string(content)
    values = {name for node in model.graph.node for name in node.output}
    clashes = {each.name for each in decoder.graph.output} & {
        *values, *(each.name for each in model.graph.input)
    }  # fmt: skip
    if clashes:
        raise ValueError(
            "The model of `join` must not have tensors with the names of outputs of the decoder; "
            f"got {', '.join(sorted(clashes))}. Rename them in the model."
        )
    try:
        if opset_of(model) > opset_of(decoder):
            decoder = version_converter.convert_version(decoder, opset_of(model))
        for each in [each for each in decoder.opset_import if each.domain]:
            decoder.opset_import.remove(each)  # tf2onnx adds a domain that the decoder does not use
        decoder.ir_version = model.ir_version = max(decoder.ir_version, model.ir_version)
        decoder = compose.add_prefix(decoder, PREFIX, rename_outputs=False)
        pairs = [(f"{PREFIX}from/{name}", PREFIX + name) for name in names]
        return compose.merge_models(model, decoder, pairs).SerializeToString()
    except (onnx.checker.ValidationError, RuntimeError, ValueError) as error:
        raise ValueError(f"The decoder cannot be joined to the model of `join`: {error}") from error


def _read(path):
    import onnx

    try:
        model = onnx.load(os.fspath(path))
        size = model.ByteSize()
    except Exception as error:  # onnx raises errors of Protocol Buffers and of its own
        reason = " ".join(str(error).split())[:200]
        raise ValueError(
            f"{path}: expected an ONNX model of at most 2 GB; the file cannot be read ({reason})."
        ) from error
    if not model.graph.output or size >= LARGEST:
        raise ValueError(f"{path}: expected an ONNX model of at most 2 GB; got {size:,} bytes.")
    return model


def _connect(path, model, names, num_tags):
    """Replaces the outputs of the model with the inputs of the decoder, with their types."""
    from onnx import TensorProto, helper

    graph = model.graph
    there = {value.name: value for value in (*graph.input, *graph.value_info, *graph.output)}
    every = {*there, *(name for node in graph.node for name in node.output)}
    outputs: list[Any] = []
    for own, name in names.items():
        is_logits = own == "logits"
        kind = TensorProto.FLOAT if is_logits else TensorProto.BOOL
        if name not in every:
            if own in ("logits", "mask"):
                known = [value.name for value in (*graph.input, *graph.output)]
                raise ValueError(
                    f"{path}: `{own}` must be the name of a tensor of the model, such as "
                    f"{', '.join(known[:20])}; got {name!r}."
                )
            graph.input.append(helper.make_tensor_value_info(name, kind, ["batch", "tokens"]))
        elif is_logits and name in there:
            _check_width(path, there[name], num_tags)
        inner = PREFIX + "from/" + own
        graph.node.append(helper.make_node("Cast", [name], [inner], to=kind))
        shape = [None, None, num_tags] if is_logits else [None, None]
        outputs.append(helper.make_tensor_value_info(inner, kind, shape))
    del graph.output[:]
    graph.output.extend(outputs)


def _check_width(path, value, num_tags):
    """Raises a ValueError if the last axis of a tensor is known and has not one score per tag."""
    axes = value.type.tensor_type.shape.dim
    width = axes[-1].dim_value if len(axes) else 0
    if width and (width != num_tags or len(axes) != 3):
        raise ValueError(
            f"{path}: `logits` must be a tensor [B, T, {num_tags}], with one score for each of the "
            f"tags; {value.name} has {len(axes)} axes, and {width} scores. Give the tags of the "
            "model, each once, in the order of their ids."
        )
