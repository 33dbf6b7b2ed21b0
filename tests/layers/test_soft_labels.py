"""Soft labels of the CRF layer: the enumerated cross-entropy, and the loss of hard tags."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.layers.ops.chain_paths_oracle import MASKS, Problem
from tests.layers.test_crf import BIO, K, random_crf, value_and_gradients


def random_targets(problem, seed=1):
    """Returns the probabilities of the tags of each token, NaN where masked."""
    shape = problem.emissions.shape
    targets = np.random.default_rng(seed).dirichlet(np.ones(shape[-1]), shape[:-1])
    targets[~problem.mask] = np.nan
    return targets.astype("float32")


@pytest.mark.parametrize("jit_compile", [False, pytest.param("auto", marks=pytest.mark.slow)])
def test_soft_labels_cost_the_enumerated_cross_entropy(jit_compile):
    problem = Problem.random(MASKS)
    crf = random_crf(problem, jit_compile=jit_compile)
    targets = random_targets(problem)
    expected = []
    for row, mask in enumerate(problem.mask):
        loss, total = 0.0, problem.log_normalizer(row)
        for path, score in problem.paths(row):
            chosen = targets[row][mask][range(len(path)), list(path)]
            loss -= chosen.prod() * (score - total)
        expected.append(loss)
    weights = np.arange(1.0, 8.0, dtype="float32") / 4
    loss = crf.loss(problem.emissions, targets, problem.mask)
    assert_close(loss, np.mean(expected), magnitude=problem.magnitude)
    loss = crf.loss(problem.emissions, targets, problem.mask, weights)
    assert_close(loss, np.mean(weights * expected), magnitude=2 * problem.magnitude)


@pytest.mark.parametrize("allowed", [None, BIO])
def test_one_hot_labels_have_the_loss_and_gradient_of_tags(allowed):
    problem = Problem.random(MASKS)
    crf = random_crf(problem, allowed_transitions=allowed)
    tags = np.random.default_rng(1).integers(0, K, problem.mask.shape)
    weights = np.linspace(0.5, 2.0, len(MASKS)).astype("float32")
    hard = value_and_gradients(crf, problem, tags, weights)
    soft = value_and_gradients(crf, problem, np.eye(K, dtype="float32")[tags], weights)
    for one, other in zip(soft, hard, strict=True):
        assert_close(one, other)


def test_the_gradient_of_soft_labels_is_that_of_all_their_tags():
    """The loss is linear in the labels, so that of 0.3 y + 0.7 z for one token is the mixture."""
    problem = Problem.random([[1, 0, 1, 1]])
    crf = random_crf(problem)
    eye = np.eye(K, dtype="float32")
    mixed = eye[[[0, 1, 2, 0]]]
    mixed[0, 2] = 0.3 * eye[2] + 0.7 * eye[1]
    parts = [value_and_gradients(crf, problem, [[0, 1, tag, 0]]) for tag in (2, 1)]
    found = value_and_gradients(crf, problem, mixed)
    for value, one, other in zip(found, *parts, strict=True):
        assert_close(value, 0.3 * one + 0.7 * other, magnitude=problem.magnitude)


def test_wrong_soft_labels():
    problem = Problem.random(MASKS)
    crf, targets = random_crf(problem), random_targets(problem)
    with pytest.raises(ValueError, match=r"`sample_weight` must have the shape \[B\] with soft"):
        crf.loss(problem.emissions, targets, problem.mask, np.ones(problem.mask.shape))
    with pytest.raises(ValueError, match=r"`tags` must have the shape \[B, T, K\]"):
        crf.loss(problem.emissions, targets[..., :2], problem.mask)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must contain probabilities"):
        crf.loss(problem.emissions, 2 * targets, problem.mask)
