"""Large weights are stored as they are, and what OpenVINO reads wrongly is replaced."""

import keras
import numpy as np
import pytest

from tests.closeness import assert_close
from tfreps._src.export.portable.converters import _adapt_for_openvino, convert
from tfreps._src.export.portable.model_file import _portable


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


class TiedProducts(keras.layers.Layer):
    """Multiplies `x` by the first rows of a kernel, by its transposition, and adds a bias."""

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=[256, 128], initializer="normal", name="kernel")
        self.bias = self.add_weight(shape=[256], initializer="normal", name="bias")
        self.unused = self.add_weight(shape=[130, 130], initializer="normal", name="unused")

    def call(self, x):
        return keras.ops.matmul(x @ self.kernel[:128], keras.ops.transpose(self.kernel)) + self.bias


def test_large_weights_are_initializers():
    """Rows and the transposition of a weight are computed once; unused weights are left out."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("tf2onnx")
    keras.utils.set_random_seed(1)
    layer = TiedProducts()
    x = keras.Input([128], name="x")
    model = keras.Model(x, layer(x))
    written = onnx.load_from_string(convert("onnx", _portable(model), [model]))
    assert [node.op_type for node in written.graph.node if node.op_type != "Identity"] == [
        *("MatMul", "MatMul", "Add")
    ]
    assert [each.name for each in written.graph.input] == ["x"]
    stored = [onnx.numpy_helper.to_array(each) for each in written.graph.initializer]
    kernel, bias = layer.kernel.numpy(), layer.bias.numpy()
    expected = [bias, kernel[:128], kernel.T]
    assert len(stored) == 3
    for value, own in zip(sorted(stored, key=np.size), expected, strict=True):
        np.testing.assert_array_equal(value, own)
    given = np.random.default_rng(0).normal(size=[5, 128]).astype("float32")
    result = outputs(written, given, "onnxruntime")
    wide = (given.astype("float64") @ kernel[:128]) @ kernel.T + bias
    assert_close(result, wide, terms=256)  # sums of 128 terms, which are sums of 128 terms
