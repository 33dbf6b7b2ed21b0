"""One step against the equations, and a sequence of steps against SLSTM."""

import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import slstm
from tests.closeness import assert_close
from tests.layers import slstm_oracle
from tfreps.layers import SLSTM, SLSTMCell

LENGTHS = np.array([5, 3])


def make(**options):
    cell = SLSTMCell(**{"units": 3, **options})
    cell.build([None, None, 3])
    rng = np.random.default_rng(0)
    for weight in cell.trainable_weights:
        weight.assign(0.7 * rng.normal(size=weight.shape))
    return cell


def states(num_nodes=1):
    rng = np.random.default_rng(1)
    shapes = [(2, 5, 3)] * 3 + [(2, num_nodes, 3)] * 2
    return [rng.normal(size=shape).astype("float32") for shape in shapes]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_sentence_nodes": 2, "window": 2, "neighbors": "summed"},
        {"input_term": "embedding"},
        {"sentence_normalization": "words"},
    ],
)
def test_is_one_step_of_the_equations(options):
    cell = make(**options)
    inputs, *before = states(cell.num_sentence_nodes)
    got = cell(inputs, *before, mask=np.arange(5) < LENGTHS[:, None])
    weights = slstm_oracle.named(slstm_oracle.arrays(cell), cell.window, cell.neighbors)
    for row, length in enumerate(LENGTHS):
        x, h, c = (values[row, :length].astype("float64") for values in (inputs, *before[:2]))
        g, q = (values[row].astype("float64") for values in before[2:])
        expected = slstm.step(x, h, c, g, q, weights, cell.get_config())
        for state, wanted in zip(got, expected, strict=True):
            assert_close(state[row, : len(wanted)], wanted)
        for state in got[:2]:
            np.testing.assert_array_equal(state[row, length:], 0.0)


def test_several_cells_in_a_row_are_an_slstm():
    layer = SLSTM(units=3, num_steps=4, initial_state="zeros", boundary="zeros")
    inputs = states()[0]
    mask = np.arange(5) < LENGTHS[:, None]
    words, sentence = layer(inputs, mask=mask)
    now = [np.zeros([2, n, 3], "float32") for n in (5, 5, 1, 1)]
    for _ in range(4):
        now = layer.cell(inputs, *now, mask=mask)
    assert_close(now[0], words)
    assert_close(now[2], sentence)


@pytest.mark.parametrize(
    "options, expected",
    [
        ({}, 3_693_000),
        ({"input_term": "embedding", "neighbors": "summed"}, 3_242_700),
        ({"input_term": "embedding", "neighbors": "summed", "window": 3}, 3_242_700),
        ({"num_sentence_nodes": 0}, 24 * 300**2 + 6 * 300),
        ({"num_sentence_nodes": 2}, 3_693_000 + 17 * 300**2 + 4 * 300),  # 17 matrices, 4 biases
    ],
)
def test_parameters_are_as_many_as_published(options, expected):
    cell = SLSTMCell(units=300, **options)
    cell.build([None, None, 300])
    assert cell.count_params() == expected


def test_l2_is_on_kernels_alone():
    cell = make(l2=0.5)
    kernels = [w.numpy() for w in cell.trainable_weights if "kernel" in w.name]
    assert len(kernels) == 5
    expected = 0.5 * sum((kernel**2).sum() for kernel in kernels)
    assert_close(tf.add_n(cell.losses), expected)


def test_says_that_embeddings_must_be_as_wide_as_states():
    with pytest.raises(ValueError, match=r"as wide as the states \(4\); got inputs of width 3"):
        SLSTMCell(units=4, input_term="embedding").build([None, None, 3])
