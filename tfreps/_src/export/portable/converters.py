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
LARGE = 2**14  # smallest number of values of a large matrix
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

    small, large = _weights_of(models)
    names = list(model.specs)
    weights = {f"tfreps_weight_{n}": pair for n, pair in enumerate(large)}

    # tf2onnx copies constants many times, 22 GB for BERT base. Therefore, large weights are inputs
    # while the graph is converted.
    def run(*inputs):
        given = zip([variable for variable, _ in large], inputs[len(names) :], strict=True)
        values = [*_as_constants(small), *given]
        return _call(model, values, dict(zip(names, inputs, strict=False)))

    specs = [tf.TensorSpec(value.shape, value.dtype, name) for name, (_, value) in weights.items()]
    # In eager mode, lookup tables add None to this collection, and TensorFlow would log a warning.
    initializers = tf.compat.v1.get_collection_ref(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS)
    initializers[:] = [each for each in initializers if each is not None]
    rewriters = [_without_products, *([with_layer_norms] if opset >= LAYER_NORMS else [])]
    found, _ = tf2onnx.convert.from_function(
        tf.function(run, autograph=False),
        input_signature=[*model.specs.values(), *specs],
        opset=opset,
        custom_rewriter=rewriters,
    )
    _store_weights(found.graph, {name: value for name, (_, value) in weights.items()}, opset)
    _adapt_for_openvino(found.graph)
    return found.SerializeToString()


def _store_weights(graph, weights, opset):
    """Turns the inputs of a graph with the names of `weights` into initializers.

    Nodes that compute only with a weight and constants, such as the transposition of a weight, are
    replaced by their results.
    """
    from onnx import numpy_helper
    from onnx.reference import ReferenceEvaluator

    constants = {each.name: each for each in graph.initializer}
    constants |= {name: numpy_helper.from_array(value, name) for name, value in weights.items()}
    outputs, nodes, computed = {each.name for each in graph.output}, [], set(weights)
    for node in graph.node:
        is_constant = computed.intersection(node.input) and constants.keys() >= set(node.input)
        has_body = any(attribute.g.node for attribute in node.attribute)
        if not is_constant or has_body or outputs.intersection(node.output):
            nodes.append(node)
            continue
        computed.update(node.output)
        given = {name: numpy_helper.to_array(constants[name]) for name in node.input}
        results = ReferenceEvaluator(node, opsets={"": opset}).run(None, given)
        for name, result in zip(node.output, results, strict=True):
            constants[name] = numpy_helper.from_array(np.asarray(result), name)
    _replace_items(graph.node, nodes)
    _replace_items(graph.input, [each for each in graph.input if each.name not in weights])
    used = {name for each in [graph, *_bodies(graph)] for node in each.node for name in node.input}
    used |= outputs
    _replace_items(graph.initializer, [each for name, each in constants.items() if name in used])


def _replace_items(field, items):
    items = list(items)
    del field[:]
    field.extend(items)


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
    small, large = _weights_of(models)
    module = tf.Module()
    module.weights = [tf.Variable(value) for _, value in large]

    # The converter copies constants many times, 14 GB for BERT base, but not variables.
    def run(**inputs):
        variables = [variable for variable, _ in large]
        given = zip(variables, map(tf.convert_to_tensor, module.weights), strict=True)
        return _call(model, [*_as_constants(small), *given], inputs)

    concrete = tf.function(run, autograph=False).get_concrete_function(**model.specs)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], module)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    return converter.convert()


def _weights_of(models):
    """Returns two lists of pairs of a variable and its value: small weights, and large matrices.

    Kernels of convolutions count as small, because tf2onnx rearranges them.
    """
    variables: dict[int, Any] = {id(v): v for inner in models for v in inner.variables}
    weights = [(variable, np.asarray(variable)) for variable in variables.values()]
    is_large = [value.ndim == 2 and value.size >= LARGE for _, value in weights]
    pairs = list(zip(weights, is_large, strict=True))
    return [pair for pair, large in pairs if not large], [pair for pair, large in pairs if large]


def _as_constants(weights):
    return [(variable, tf.constant(value)) for variable, value in weights]


def _call(model, values, inputs):
    """Returns a dict of the outputs of the `PortableModel` `model` for a dict of its inputs.

    `values` are pairs of a variable and the tensor that is used instead of it.
    """
    with portable_graph(), keras.StatelessScope(state_mapping=values):
        return model.function(inputs)
