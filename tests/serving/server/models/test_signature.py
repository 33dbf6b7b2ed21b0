"""Tests the checks of requests, and the conditions for merging them."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from tfreps.serving.server.models.signature import Signature
from tfreps.serving.server.requests.serving_error import ServingError


def make(inputs, outputs):
    definition = meta_graph_pb2.SignatureDef()
    for part, specs in ((definition.inputs, inputs), (definition.outputs, outputs)):
        for name, (dtype, *shape) in specs.items():
            part[name].dtype = tf.as_dtype(dtype).as_datatype_enum
            for size in shape:
                part[name].tensor_shape.dim.add(size=size)
    return Signature("serving_default", definition)


TEXT = {"text": ("string", -1)}


@pytest.mark.parametrize(
    "inputs, outputs, merged",
    [
        (TEXT, {"y": ("float32", -1, 5)}, True),
        ({**TEXT, "n": ("int32", -1)}, {"y": ("float32", -1)}, True),
        ({"tokens": ("string", -1, -1)}, {"y": ("float32", -1)}, False),
        ({"text": ("string", 3)}, {"y": ("float32", -1)}, False),
        (TEXT, {"y": ("float32",)}, False),
        (TEXT, {"y": ("float32", -1), "constant": ("float32", 3)}, False),
        ({}, {"y": ("float32", -1)}, False),
    ],
)
def test_what_is_merged(inputs, outputs, merged):
    assert make(inputs, outputs).batches == merged


def test_sparse_inputs_are_not_merged():
    definition = meta_graph_pb2.SignatureDef()
    definition.inputs["x"].coo_sparse.values_tensor_name = "x:0"
    assert not Signature("serving_default", definition).batches


def test_unknown_rank_takes_any_shape():
    definition = meta_graph_pb2.SignatureDef()
    definition.inputs["x"].dtype = 1
    definition.inputs["x"].tensor_shape.unknown_rank = True
    Signature("s", definition).check({"x": np.zeros([2, 3], "float32")})


def test_filters():
    signature = make(TEXT, {"y": ("float32", -1), "x": ("float32", -1)})
    assert signature.check_filter([]) == ["x", "y"]
    assert signature.check_filter(["y"]) == ["y"]
    for names, words in ((["z"], "alias not found .* {x,y}"), (["y", "y"], "duplicate")):
        with pytest.raises(ServingError, match=words):
            signature.check_filter(names)


def test_ragged_outputs_are_none():
    definition = meta_graph_pb2.SignatureDef()
    definition.outputs["r"].composite_tensor.type_spec.type_state.none_value.SetInParent()
    assert Signature("s", definition).outputs == {"r": None}
