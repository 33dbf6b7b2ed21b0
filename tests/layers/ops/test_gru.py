"""gru against plain loops over the sentences and steps, in its plain and its portable form."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps._src.layers.ops.gru import gru
from tfreps._src.layers.ops.portable import portable_graph

B, D, U = 3, 4, 5
RNG = np.random.default_rng(0)
WEIGHTS = [
    RNG.normal(size=shape).astype("float32") for shape in ((D, 3 * U), (U, 3 * U), (2, 3 * U))
]


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def plain(inputs, mask):
    """Returns the outputs and the last state, computed one gate after another in float64."""
    kernel, recurrent, bias = (weight.astype("float64") for weight in WEIGHTS)
    outputs, hidden = np.zeros([len(inputs), B, U]), np.zeros([B, U])
    gates = [slice(n * U, (n + 1) * U) for n in range(3)]
    for t, row in np.ndindex(len(inputs), B):
        if mask[t, row]:
            x, h = inputs[t, row], hidden[row]
            terms = [x @ kernel[:, gate] + bias[0, gate] for gate in gates]
            backs = [h @ recurrent[:, gate] + bias[1, gate] for gate in gates]
            z = sigmoid(terms[0] + backs[0])
            r = sigmoid(terms[1] + backs[1])
            hidden[row] = z * h + (1 - z) * np.tanh(terms[2] + r * backs[2])
            outputs[t, row] = hidden[row]
    return outputs, hidden


@pytest.mark.parametrize("num_steps", [1, 4, 7])
@pytest.mark.parametrize("is_portable", [False, True])
def test_equals_plain_loops(num_steps, is_portable):
    inputs = RNG.normal(size=[num_steps, B, D]).astype("float32")
    mask = RNG.integers(0, 2, [num_steps, B, 1]).astype("float32")
    if is_portable:
        with portable_graph():
            found = gru(inputs, mask, *WEIGHTS, "float32")
    else:
        found = gru(tf.constant(inputs), tf.constant(mask), *WEIGHTS, "float32")
    for value, expected in zip(found, plain(inputs, mask[..., 0]), strict=True):
        assert_close(value, expected)
