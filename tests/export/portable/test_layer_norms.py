"""Tests that layer normalizations become one ONNX node, against plain NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps._src.export.portable.converters import LAYER_NORMS, convert
from tfreps._src.export.portable_model import PortableModel

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")
onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")
pytest.importorskip("tf2onnx", reason="needs the extra onnx")
WIDTH, EPSILON = 6, 1e-3
RANDOM = np.random.default_rng(0)
GAMMA, BETA = RANDOM.normal(size=[2, WIDTH]).astype("float32")


def converted(function, layers=(), opset=18):
    """Returns an ONNX session of a function of `x` float32 `[B, T, 6]`, and its kinds of nodes.

    `layers` are the Keras layers with weights that the function calls.
    """
    specs = {"x": tf.TensorSpec([None, None, WIDTH], "float32", "x")}
    model = PortableModel("norm", specs, lambda given: {"y": function(given["x"])}, dict, [], {})
    content = convert("onnx", model, layers, opset)
    nodes = onnx.load_from_string(content).graph.node
    return onnxruntime.InferenceSession(content), [node.op_type for node in nodes]


def outputs(session):
    x = RANDOM.normal(size=[2, 3, WIDTH]).astype("float32")
    [found] = session.run(None, {"x": x})
    return x, found


@pytest.mark.parametrize("opset", [LAYER_NORMS - 1, LAYER_NORMS, 18])
def test_a_layer_norm_becomes_one_node(opset):
    layer = keras.layers.LayerNormalization(epsilon=EPSILON)
    layer.build([None, None, WIDTH])
    layer.set_weights([GAMMA, BETA])
    session, kinds = converted(layer, [layer], opset)
    assert opset < LAYER_NORMS or kinds == ["LayerNormalization"]
    x, found = outputs(session)
    centered = x - x.mean(-1, keepdims=True, dtype="float64")
    deviation = np.sqrt((centered**2).mean(-1, keepdims=True) + EPSILON)
    assert_close(found, centered / deviation * GAMMA + BETA, terms=WIDTH)


def normalized(x, axis=-1, other_axis=-1, center=None, gamma=GAMMA, shifted=None):
    """Computes the operations of a layer normalization; each argument replaces one of them."""
    mean = tf.reduce_mean(x, axis, keepdims=True)
    center = tf.stop_gradient(mean if center is None else center * x)
    squares = tf.math.squared_difference(x, center)
    root = tf.math.rsqrt(tf.reduce_mean(squares, other_axis, keepdims=True) + EPSILON)
    m = root * gamma
    return x * m + (-mean * (m if shifted is None else shifted) + BETA)


OTHERS = {
    "axis": {"axis": 1},
    "other_axis": {"other_axis": 1},
    "center": {"center": 0.5},
    "gamma": {"gamma": np.float32([2.0])},
    "shifted": {"shifted": 0.5},
}


@pytest.mark.parametrize("name", [None, *OTHERS])
def test_other_formulas_remain(name):
    options = OTHERS.get(name, {})
    session, kinds = converted(lambda x: normalized(x, **options))
    assert ("LayerNormalization" in kinds) == (name is None)
    x, found = outputs(session)
    assert_close(found, normalized(x.astype("float32"), **options), terms=64)
