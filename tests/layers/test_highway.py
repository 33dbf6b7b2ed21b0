"""Highway against plain loops."""

import numpy as np
import pytest

from tests import oracles
from tests.closeness import assert_close
from tfreps.layers import Highway


def test_equals_the_loops():
    rng = np.random.default_rng(0)
    weights = {
        "CNN_high_0/W_carry": rng.normal(size=(5, 5)),
        "CNN_high_0/b_carry": rng.normal(size=5),
        "CNN_high_0/W_transform": rng.normal(size=(5, 5)),
        "CNN_high_0/b_transform": rng.normal(size=5),
    }
    layer, x = Highway(), rng.normal(size=(3, 2, 5)).astype("float32")
    layer.build(x.shape)
    names = {"gate_kernel": "W_carry", "gate_bias": "b_carry"}
    names |= {"transform_kernel": "W_transform", "transform_bias": "b_transform"}
    for weight in layer.weights:
        weight.assign(weights[f"CNN_high_0/{names[weight.name]}"])
    expected = [[oracles.highway(weights, 0, row.astype(float)) for row in rows] for rows in x]
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
