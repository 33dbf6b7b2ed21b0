"""Nodes of ONNX models that OpenVINO reads wrongly are replaced; the outputs stay equal."""

import numpy as np
import pytest

from tests.closeness import assert_close
from tfreps._src.export.portable.converters import _adapt_for_openvino


def example():
    """Returns an ONNX model with each of the forms: twice the reciprocal root of `x`, summed up."""
    onnx = pytest.importorskip("onnx")
    node, info = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    floats, integers = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
    body = onnx.helper.make_graph(
        [
            node("Sqrt", ["kept"], ["root"]),
            node("Reciprocal", ["root"], ["share"]),
            node("Add", ["sum", "share"], ["next"]),
            node("Identity", ["go"], ["go_on"]),
        ],
        "body",
        [
            info("step", integers, []),
            info("go", onnx.TensorProto.BOOL, []),
            info("sum", floats, [3]),
            info("kept", floats, [3]),
        ],
        [
            info("go_on", onnx.TensorProto.BOOL, []),
            info("next", floats, [3]),
            info("kept", floats, [3]),
        ],
    )
    graph = onnx.helper.make_graph(
        [
            node("Unsqueeze", ["x", "no_axes"], ["same"]),
            node("Sub", ["same", "same"], ["zeros"]),
            node("Loop", ["steps", "", "zeros", "same"], ["y", "last"], body=body),
        ],
        "example",
        [info("x", floats, [3])],
        [info("y", floats, [3])],
        [
            onnx.helper.make_tensor("no_axes", integers, [0], []),
            onnx.helper.make_tensor("steps", integers, [], [2]),
        ],
    )
    opset = [onnx.helper.make_opsetid("", 18)]
    return onnx.helper.make_model(graph, opset_imports=opset, ir_version=8)


def outputs(model, x, engine):
    if engine == "onnxruntime":
        onnxruntime = pytest.importorskip("onnxruntime")
        return onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    openvino = pytest.importorskip("openvino")
    read = openvino.Core().read_model(model.SerializeToString(), b"")
    return openvino.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(x)[0]


@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_three_forms(engine):
    model = example()
    x = np.array([0.25, 1.0, 4.0], "float32")
    if engine == "onnxruntime":
        assert_close(outputs(model, x, engine), [4.0, 2.0, 1.0])
    _adapt_for_openvino(model.graph)
    assert_close(outputs(model, x, engine), [4.0, 2.0, 1.0])
    kinds = [node.op_type for node in model.graph.node[-1].attribute[0].g.node]
    assert kinds == ["Sqrt", "Pow", "Add", "Identity", "Identity"]
    assert [each.name for each in model.graph.initializer] == ["steps", "minus_half"]
