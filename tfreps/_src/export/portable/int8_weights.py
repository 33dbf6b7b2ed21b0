"""with_int8_weights: stores the large matrices and tables of an ONNX model as int8."""

import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfreps._src.export.stored_weights import int8_values

LEAST = 2**14  # smallest number of values of a matrix or table that is stored as int8
LEAST_COLUMNS = 16  # narrower tables contain scores, such as those of an HMM
# Keeps `quantize_dynamic` from logging a warning that recommends other programs.
PREPARED = {"onnx.quant.pre_process": "onnxruntime.quant"}


def with_int8_weights(content: bytes) -> bytes:
    """Stores the large matrices and tables of an ONNX model as int8.

        matrix    y = x @ w    x is rounded to 8 bits in each call, w to -64, ..., 64 per column
        table     y = w[ids]   each row of w is rounded to -127, ..., 127

    Matrices are multiplied as integers, which is faster than in float32. Their weights have 7
    bits, because CPUs without VNNI instructions add pairs of products in 16 bits, which overflow
    with 8 bits. The outputs are therefore the same on all CPUs, up to the rounding of float32.
    These parts stay float32:

    - matrices and tables of less than `LEAST` values, such as the layer that computes the scores of
      tags or labels, because they take little time, and because errors in scores change tags;
    - tables of less than `LEAST_COLUMNS` columns;
    - products of two computed matrices, as in attention, and all operations of the decoder.

    Matrices that are multiplied in the loop of an LSTM are stored as int8, too.

    Args:
        content: bytes. Contents of an ONNX file.

    Returns:
        bytes. Contents of the new ONNX file.

    Raises:
        ValueError: If the model contains no matrix or table that is large enough.
    """
    import onnx
    from onnxruntime.quantization import quantize_dynamic

    model = onnx.load_from_string(content)
    constants = {each.name: each for each in model.graph.initializer}
    _move_constants_into_loops(model.graph, set(constants))
    products = [node for node in _nodes(model.graph) if node.op_type == "MatMul"]
    products = [node for node in products if node.input[1] in constants]
    small = [node.name for node in products if _size(constants[node.input[1]]) < LEAST]
    num_tables = _store_tables(model.graph, constants)
    if len(small) == len(products) and not num_tables:
        raise ValueError(
            "`weight_dtype='int8'` needs a model with a matrix or an embedding table of at least "
            f"{LEAST:,} values; this model has none. Omit `weight_dtype`."
        )
    onnx.helper.set_model_props(model, PREPARED)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "int8.onnx")
        quantize_dynamic(
            model,
            path,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=True,
            nodes_to_exclude=small,
            extra_options={"EnableSubgraph": True, "DefaultTensorType": onnx.TensorProto.FLOAT},
        )
        return path.read_bytes()


def _nodes(graph: Any) -> Iterator[Any]:
    """Yields the nodes of a graph, and those of the bodies of its loops."""
    for node in graph.node:
        yield node
        for body in _bodies(node):
            yield from _nodes(body)


def _bodies(node: Any) -> list[Any]:
    return [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def _size(constant: Any) -> int:
    return int(np.prod(constant.dims))


def _move_constants_into_loops(graph: Any, constants: set[str]) -> None:
    """Makes the bodies of loops read constants by name instead of as variables of the loop.

    tf2onnx passes the constants that a loop reads as variables that keep their value.
    `quantize_dynamic` stores only constants as int8, and ONNX Runtime packs only constants for its
    matrix multiplications when it loads a model.
    """
    for node in graph.node:
        for body in _bodies(node):
            if node.op_type == "Loop":
                names = _read_constants(node, body, constants)
                for other in _nodes(graph):
                    other.input[:] = [names.get(name, name) for name in other.input]
            _move_constants_into_loops(body, constants)


def _read_constants(loop: Any, body: Any, constants: set[str]) -> dict[str, str]:
    """Removes the variables of a loop that are constants.

    Returns a dict from the names of these variables, in the loop and after it, to the constants.
    """
    # A loop has the inputs (number of steps, condition, *variables), its body has the inputs (step,
    # condition, *variables) and the outputs (condition, *variables, ...).
    names = {}
    copies = {node.output[0]: node for node in body.node if node.op_type == "Identity"}
    for number in reversed(range(2, len(loop.input))):
        own, constant, last = body.input[number].name, loop.input[number], body.output[number - 1]
        copy = copies.get(last.name)
        if constant in constants and own == (last.name if copy is None else copy.input[0]):
            names |= {name: constant for name in (own, last.name, loop.output[number - 2])}
            del loop.input[number], loop.output[number - 2]
            del body.input[number], body.output[number - 1]
            if copy is not None:
                body.node.remove(copy)
    return names


def _store_tables(graph: Any, constants: dict[str, Any]) -> int:
    """Stores the tables in which ids are looked up as int8; returns their number.

    A table that is also used in other ways, for example multiplied, keeps its float32 values, too.
    """
    from onnx import numpy_helper

    nodes, stored = [], set()
    for node in graph.node:
        if node.op_type == "Gather" and _is_table(constants.get(node.input[0])):
            stored.add(node.input[0])
            nodes += _lookup(node)
        else:
            nodes.append(node)
    graph.node.clear()
    graph.node.extend(nodes)
    read = {name for node in _nodes(graph) for name in node.input}
    for name in sorted(stored):
        values, scale = int8_values(numpy_helper.to_array(constants[name]), [1])
        for array, part in (values, "integers"), (scale, "row_scale"):
            graph.initializer.append(numpy_helper.from_array(array, f"{name}/{part}"))
        if name not in read:
            graph.initializer.remove(constants[name])
    return len(stored)


def _is_table(constant: Any) -> bool:
    if constant is None or constant.data_type != 1 or len(constant.dims) != 2:  # 1 is float32
        return False
    return _size(constant) >= LEAST and constant.dims[1] >= LEAST_COLUMNS


def _lookup(node: Any) -> list[Any]:
    """Returns the nodes that look up ids in a table of int8: float32(values[ids]) * scale[ids]."""
    from onnx.helper import make_node

    table, ids, output = *node.input, node.output[0]
    integers, floats, scale = (f"{output}/{part}" for part in ("integers", "floats", "row_scale"))
    return [
        make_node("Gather", [f"{table}/integers", ids], [integers], integers),
        make_node("Cast", [integers], [floats], floats, to=1),  # float32
        make_node("Gather", [f"{table}/row_scale", ids], [scale], scale),
        make_node("Mul", [floats, scale], [output], f"{output}/rows"),
    ]
