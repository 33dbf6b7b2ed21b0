"""Highway against plain loops."""

import numpy as np
import pytest

from docs.by_hand.elmo import highway
from tests.closeness import assert_close
from tfreps.layers import Highway


def test_equals_the_loops():
    rng = np.random.default_rng(0)
    names = "gate_kernel", "gate_bias", "transform_kernel", "transform_bias"
    weights = {name: rng.normal(size=(5, 5) if "kernel" in name else 5) for name in names}
    layer, x = Highway(), rng.normal(size=(3, 2, 5)).astype("float32")
    layer.build(x.shape)
    for weight in layer.weights:
        weight.assign(weights[weight.name])
    expected = highway(x.astype(float), *weights.values())
    assert_close(layer(x), expected)


def test_passes_its_input_through_where_the_gate_is_shut_and_transforms_where_it_is_open():
    x = np.array([[1.0, -2.0]], "float32")
    shut, open_ = Highway(gate_bias=-40.0), Highway(gate_bias=40.0)
    np.testing.assert_array_equal(shut(x), x)
    open_.build(x.shape)
    open_.transform_kernel.assign(np.eye(2))
    np.testing.assert_array_equal(open_(x), [[1.0, 0.0]])


def test_starts_with_biases_minus_two_and_zero():
    layer = Highway()
    layer.build((None, 400))
    values = {weight.name: np.asarray(weight) for weight in layer.weights}
    assert (values["gate_bias"] == -2.0).all() and (values["transform_bias"] == 0.0).all()
    assert values["gate_kernel"].std() == pytest.approx(400**-0.5, rel=0.02)
    assert not (values["gate_kernel"] == values["transform_kernel"]).any()
