"""Tests that layer normalizations become one ONNX node, against plain NumPy."""

import numpy as np
import pytest

from tests.closeness import assert_close

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
helper = onnx.helper
WIDTH, EPSILON = 6, 1e-3
RANDOM = np.random.default_rng(0)
GAMMA, BETA = RANDOM.normal(size=[2, 1, 1, WIDTH]).astype("float32")
KEPT = ["Abs", "LayerNormalization"]


def model(axis=-1, exponent=-0.5, scale="m"):
    """Returns the nodes of `LayerNormalization` of Keras after those of another function."""
    steps = [
        ("Abs", ["input"], "x"),
        ("ReduceMean", ["x", "axes"], "mean"),
        ("Neg", ["mean"], "negative"),
        ("Sub", ["x", "mean"], "difference"),
        ("Mul", ["difference", "difference"], "squares"),
        ("ReduceMean", ["squares", "axes"], "variance"),
        ("Add", ["variance", "epsilon"], "base"),
        ("Pow", ["base", "exponent"], "power"),
        ("Mul", ["power", "gamma"], "m"),
        ("Mul", ["x", "m"], "scaled"),
        ("Mul", ["negative", scale], "centered"),
        ("Add", ["centered", "beta"], "shift"),
        ("Add", ["scaled", "shift"], "output"),
    ]
    constants = {"axes": np.array([axis]), "gamma": GAMMA, "beta": BETA}
    constants |= {"epsilon": np.float32(EPSILON), "exponent": np.float32(exponent)}
    constants["unused"] = np.float32(1)
    shape = [None, None, WIDTH]
    return helper.make_model(
        helper.make_graph(
            [helper.make_node(kind, inputs, [output]) for kind, inputs, output in steps],
            "norm",
            [helper.make_tensor_value_info("input", 1, shape)],
            [helper.make_tensor_value_info("output", 1, shape)],
            [onnx.numpy_helper.from_array(np.asarray(v), name) for name, v in constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", 18)],
        ir_version=10,
    )


def replaced(given):
    from tfreps._src.export.portable.layer_norms import with_layer_norms

    with_layer_norms(given.graph)
    onnx.checker.check_model(given)
    return [node.op_type for node in given.graph.node]


def test_a_layer_norm_becomes_one_node():
    given = model()
    assert replaced(given) == KEPT
    assert sorted(each.name for each in given.graph.initializer) == ["beta", "gamma"]
    x = RANDOM.normal(size=[2, 3, WIDTH]).astype("float32")
    [found] = onnxruntime.InferenceSession(given.SerializeToString()).run(None, {"input": x})
    positive = np.abs(x).astype("float64")
    centered = positive - positive.mean(-1, keepdims=True)
    deviation = np.sqrt((centered**2).mean(-1, keepdims=True) + EPSILON)
    assert_close(found, centered / deviation * GAMMA + BETA, terms=WIDTH)


@pytest.mark.parametrize("other", [{"axis": 1}, {"exponent": -1.0}, {"scale": "power"}])
def test_other_formulas_remain(other):
    given = model(**other)
    number = len(given.graph.node)
    found = replaced(given)
    assert len(found) == number and "LayerNormalization" not in found
