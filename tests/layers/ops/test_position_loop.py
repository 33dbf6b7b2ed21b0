"""Position loop against a Python loop."""

import numpy as np
import pytest
import tensorflow as tf

from tfreps._src.layers.ops.position_loop import BLOCK, recur


@pytest.mark.parametrize("length", [BLOCK, 3 * BLOCK])
@pytest.mark.parametrize("reverse", [False, True])
def test_recur_is_a_loop_over_all_positions(length, reverse):
    def add_one(state):
        return (state[0] + 1,)

    def step(state, x):
        after = (3 * state[0] + x) % 1000
        return (after,), (state[0], after)

    numbers = np.arange(1, length + 1)
    state, before, after = 7, {}, {}
    for number, t in enumerate(range(length)[::-1] if reverse else range(length)):
        before[t], state = state, (3 * state + numbers[t]) % 1000
        after[t] = state
        state += number % BLOCK == BLOCK - 1
    spec = tf.TensorSpec([None], "int32")
    inputs = [tf.constant(numbers[:, None], "int32")]
    (last,), seen = recur(step, (tf.constant([7]),), inputs, [spec, spec], reverse, add_one)
    assert last.numpy().tolist() == [state]
    for values, expected in zip(seen, (before, after), strict=True):
        assert values.numpy().tolist() == [[expected[t]] for t in range(length)]
