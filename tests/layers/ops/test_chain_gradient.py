"""Both algorithms of the log normalizer: agreement, and when the fast one is used."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.layers.ops.chain_paths_oracle import MASKS, Problem
from tfreps._src.layers.ops import chain_gradient
from tfreps._src.layers.ops.chain_recursion import Chain


def exact_in_probability_space(problem):
    chain = Chain.of(*(tf.constant(x) for x in problem))
    return bool(chain_gradient.forward_backward(chain)["exact"])


def value_and_gradients(problem):
    e, mask, *scores = (tf.constant(x) for x in problem)
    with tf.GradientTape() as tape:
        tape.watch([e, *scores])
        value = chain_gradient.log_sum_over_paths(e, mask, *scores)
        total = tf.reduce_sum(value * tf.range(1.0, len(value) + 1))
    return [value, *tape.gradient(total, [e, *scores])]


def long_problem(scale):
    rng = np.random.default_rng(2)
    return Problem.random(rng.random((8, 40)) < 0.8, num_tags=6, scale=scale)


@pytest.mark.few(1)
@pytest.mark.parametrize("scale", [1.0, 0.1, 5.0])
def test_both_paths_agree(scale, monkeypatch):
    problem = long_problem(scale)
    problem.transitions[1:3, 0] = problem.start[3] = -np.inf  # as in tag schemes
    assert exact_in_probability_space(problem)
    fast = value_and_gradients(problem)
    monkeypatch.setattr(chain_gradient, "SMALLEST", 2.0)  # no sum is large enough
    assert not exact_in_probability_space(problem)
    for one, other in zip(fast, value_and_gradients(problem), strict=True):
        assert_close(one, other, magnitude=1 + scale + np.abs(other).max())


def test_the_fast_path_is_left_where_paths_would_get_lost():
    """Each tag only follows itself; the worse tag of the first half is better in the second."""
    problem = Problem.random(np.ones([1, 40]), num_tags=2)
    problem.transitions[~np.eye(2, dtype=bool)] = -np.inf
    problem.emissions[0, :20], problem.emissions[0, 20:] = [40.0, 0.0], [0.0, 50.0]
    assert not exact_in_probability_space(problem)
    value, d_emissions, *_ = value_and_gradients(problem)
    expected = [problem.emissions[0, :, k].sum() + 39 * problem.transitions[k, k] for k in (0, 1)]
    expected = np.logaddexp.reduce(expected + problem.start + problem.end)
    assert_close(value, [expected])
    assert_close(d_emissions[0], [[0.0, 1.0]] * 40)


@pytest.mark.parametrize("place", ["emissions", "transitions", "start", "end"])
def test_one_wide_step_is_enough_to_leave_it(place):
    problem = Problem.random(MASKS)
    getattr(problem, place)[..., 0] = 90.0
    problem.emissions[~problem.mask] = np.nan
    assert not exact_in_probability_space(problem)


def test_extreme_emissions_with_one_allowed_step_per_tag():
    """Tests emissions scaled by 60 with tags that only follow themselves."""
    problem = long_problem(60.0)
    problem.transitions[~np.eye(6, dtype=bool)] = -np.inf
    assert not exact_in_probability_space(problem)
    value, d_emissions, *_ = value_and_gradients(problem)
    for row, mask in enumerate(problem.mask):
        each = problem.emissions[row][mask].astype(float).sum(0) + problem.start + problem.end
        each += (mask.sum() - 1) * np.diag(problem.transitions)
        assert_close(value[row], np.logaddexp.reduce(each))
        expected = np.exp(each - np.logaddexp.reduce(each)) * (row + 1)
        for position in np.flatnonzero(mask):
            assert_close(d_emissions[row, position], expected, magnitude=np.abs(each).max())


@pytest.mark.slow
def test_memory_grows_with_tags_times_tokens():
    """No tensor of the value or its gradient contains pairs of tags for every token."""
    batch, tokens, tags = 2, 64, 16

    @tf.function
    def run(e, transitions, start, end):
        with tf.GradientTape() as tape:
            tape.watch([e, transitions])
            mask = tf.ones([batch, tokens], "bool")
            value = chain_gradient.log_sum_over_paths(e, mask, transitions, start, end)
        return tape.gradient(value, [e, transitions])

    shapes = [[batch, tokens, tags], [tags, tags], [tags], [tags]]
    graph = run.get_concrete_function(*(tf.TensorSpec(shape) for shape in shapes)).graph
    graphs, sizes = [graph], []
    while graphs:
        graph = graphs.pop()
        graphs += [g.graph for g in graph._functions.values() if hasattr(g, "graph")]
        sizes += [o.shape.num_elements() or 0 for op in graph.get_operations() for o in op.outputs]
    assert max(sizes) <= 2 * batch * (tokens + 1) * (tags + 1)
