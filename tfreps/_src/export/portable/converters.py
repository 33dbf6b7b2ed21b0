"""Converts a portable model to ONNX and to LiteRT."""

import contextlib
import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from tfreps._src.export.portable.layer_norms import with_layer_norms
from tfreps._src.export.portable_model import PortableModel
from tfreps._src.layers.ops.configurable import inner_layers
from tfreps._src.layers.ops.portable import portable_graph

OPSET = 18  # version of the ONNX operator set
LAYER_NORMS = 17  # first operator set with LayerNormalization
MINUS_HALF = "minus_half"  # name of a constant
PACKAGES = {"onnx": ("tf2onnx", "onnxruntime"), "litert": ("ai_edge_litert",)}


def convert(
    format: str, model: PortableModel, models: Sequence[keras.Model], opset: int = OPSET
) -> bytes:
    """Converts a model to the contents of an ONNX or LiteRT file.

    `format` is `"onnx"` or `"litert"`, and `models` are the Keras models that `model` calls, with
    the weights. While they are converted, the models compute in float32. `opset` is the version of
    the ONNX operator set.
    """
    with in_float32(models):
        return _to_onnx(model, models, opset) if format == "onnx" else _to_litert(model, models)


def check_packages(format: str) -> None:
    """Raises a ValueError if a package that a format needs is not installed."""
    for name in PACKAGES[format]:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise ValueError(
                f"The format {format!r} needs {name.replace('_', '-')}, which cannot be imported "
                f"({error}). Run: pip install {' '.join(PACKAGES[format]).replace('_', '-')}"
            ) from error


@contextlib.contextmanager
def in_float32(models: Sequence[keras.Model]) -> Iterator[None]:
    """Context manager in which models that compute in 16 bits compute in float32 instead."""
    layers = [part for model in models for _, part in inner_layers(model)] + list(models)
    changed = [(part, part.dtype_policy) for part in layers if "float16" in part.compute_dtype]
    for part, _ in changed:
        part.dtype_policy = "float32"
    try:
        yield
    finally:
        for part, policy in changed:
            part.dtype_policy = policy


def _to_onnx(model, models, opset):
    import tf2onnx

    names = list(model.specs)
    run = _with_constants(model, models)
    function = tf.function(
        lambda *inputs: run(**dict(zip(names, inputs, strict=True))), autograph=False
    )
    # In eager mode, lookup tables add None to this collection, and TensorFlow would log a warning.
    initializers = tf.compat.v1.get_collection_ref(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS)
    initializers[:] = [each for each in initializers if each is not None]
    specs = list(model.specs.values())
    rewriters = [_without_products, *([with_layer_norms] if opset >= LAYER_NORMS else [])]
    found, _ = tf2onnx.convert.from_function(
        function, input_signature=specs, opset=opset, custom_rewriter=rewriters
    )
    _adapt_for_openvino(found.graph)
    return found.SerializeToString()


def _without_products(graph, operations):
    """Rewriter of tf2onnx that converts `tf.where` to Where.

    By default, tf2onnx multiplies both values by the condition, so that NaN and infinity in the
    value that is not selected make the result NaN.
    """
    del graph
    for operation in operations:
        if operation.type in ("Select", "SelectV2"):
            operation.set_attr("handles_nan", True)
    return operations


def _adapt_for_openvino(graph):
    """Rewrites three forms of nodes, which OpenVINO 2026.4 reads wrongly, without other effects.

    - `1 / sqrt(x)` becomes `x ** -0.5`: in some graphs, OpenVINO computes `sqrt(x)` for it.
    - An Unsqueeze without axes becomes an Identity: OpenVINO adds an axis of length 1.
    - An output of the body of a loop that is also an input of the body gets an Identity: OpenVINO
      counts such a state twice, and rejects the loop (openvino issue 35909).
    """
    graphs = [graph, *_bodies(graph)]
    empty = {each.name for each in graph.initializer if 0 in each.dims}
    for each in graphs:
        roots = {node.output[0]: node.input[0] for node in each.node if node.op_type == "Sqrt"}
        for node in each.node:
            if node.op_type == "Reciprocal" and node.input[0] in roots:
                _replace(node, "Pow", roots[node.input[0]], MINUS_HALF)
            elif node.op_type == "Unsqueeze" and node.input[1] in empty:
                _replace(node, "Identity", node.input[0])
    for body in graphs[1:]:
        inputs = {each.name for each in body.input}
        for output in body.output:
            if output.name in inputs:
                kept = output.name + "_kept"
                body.node.add(op_type="Identity", name=kept, input=[output.name], output=[kept])
                output.name = kept
    used = {name for each in graphs for node in each.node for name in node.input}
    if MINUS_HALF in used:
        graph.initializer.add(name=MINUS_HALF, data_type=1, float_data=[-0.5])  # 1 is float32
    for unused in [each for each in graph.initializer if each.name in empty - used]:
        graph.initializer.remove(unused)


def _bodies(graph):
    """Yields the graphs in the attributes of the nodes of a graph, such as the bodies of loops."""
    for body in (attribute.g for node in graph.node for attribute in node.attribute):
        if body.node:
            yield body
            yield from _bodies(body)


def _replace(node, kind, *inputs):
    """Changes the kind and the inputs of a node."""
    node.op_type = kind
    del node.input[:]
    node.input.extend(inputs)


def _to_litert(model, models):
    function = tf.function(_with_constants(model, models), autograph=False)
    concrete = function.get_concrete_function(**model.specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module())
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    return converter.convert()


def _with_constants(model, models):
    """Returns a function that computes the outputs of a model, with the weights as constants.

    The function takes the inputs of the `PortableModel` `model` as keyword arguments, and returns
    a dict of its outputs. `models` are the Keras models that contain the weights.
    """
    variables: dict[int, Any] = {id(v): v for inner in models for v in inner.variables}
    values = [(variable, np.asarray(variable)) for variable in variables.values()]

    def run(**inputs):
        constants = [(variable, tf.constant(value)) for variable, value in values]
        with portable_graph(), keras.StatelessScope(state_mapping=constants):
            return model.function(inputs)

    return run
