"""Eager calls through a traced graph return the results of the plain operations."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.layers.ops.chain_paths_oracle import MASKS, Problem
from tfreps.layers import CRF
from tfreps.layers.ops import chain, direct_calls

# Tags O, B, I: no I at the start or after O. Row and column 3 are the start, 4 the end.
BIO = np.ones([5, 5], bool)
BIO[0, 2] = BIO[3, 2] = False
# Sizes at, below and above a size that shapes share.
SHAPES = [(1, 4), (1, 3), (2, 16), (5, 17), (8, 20), (0, 4), (3, 0)]
xla = pytest.mark.parametrize("use_xla", [False, pytest.param(True, marks=pytest.mark.slow)])


def made(allowed=BIO, **options):
    crf = CRF(3, allowed_transitions=allowed, **options)
    crf.build([None, None, 3])
    rng = np.random.default_rng(1)
    crf.set_scores(*(rng.integers(-2, 3, size) for size in ([3, 3], [3], [3])))
    return crf


def expected_of(crf, function, emissions, mask, **options):
    """Returns the result of single eager operations."""
    emissions = tf.cast(emissions, "float32")
    return function(emissions, mask, *crf._scores(float("-inf")), **options)


def assert_same(got, expected):
    for a, b in zip(tf.nest.flatten(got), tf.nest.flatten(expected), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.dtype == tf.int32:
            np.testing.assert_array_equal(a, b)
        else:
            assert_close(a, b)


@xla
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1.0, 0.0, 1e30])
def test_tags_are_those_of_plain_operations_also_of_ties(shape, scale, use_xla):
    """Small integers have many paths of equal score; each must resolve to the same one."""
    crf, rng = made(), np.random.default_rng(0)
    emissions = np.float32(scale) * rng.integers(0, 2, [*shape, 3]).astype("float32")
    mask = rng.random(shape) < 0.7
    emissions[~mask] = np.nan
    got = crf.decode(emissions, mask, use_xla=use_xla)
    assert_same(got, expected_of(crf, chain.viterbi, emissions, mask))


@xla
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
@pytest.mark.parametrize("options", [{}, {"allowed": None}, {"transition_learning_rate": 8.0}])
def test_every_dtype_constraint_and_rate(dtype, options, use_xla):
    crf, problem = made(**options), Problem.random(MASKS)
    emissions = tf.cast(problem.emissions, dtype)
    got = crf.decode(emissions, problem.mask, use_xla=use_xla)
    assert_same(got, expected_of(crf, chain.viterbi, emissions, problem.mask))


@pytest.mark.slow
@pytest.mark.parametrize("use_xla", [False, True])
def test_all_functions(use_xla):
    crf, problem = made(), Problem.random([[*row, 1] for row in MASKS])
    given = problem.emissions, problem.mask
    for k in (1, 3):
        got = crf.decode(*given, k=k, use_xla=use_xla)
        assert_same(got, expected_of(crf, chain.k_best, *given, k=k))
    for name in ("marginals", "log_normalizer"):
        got = getattr(crf, name)(*given, use_xla=use_xla)
        assert_same(got, expected_of(crf, getattr(chain, name), *given))


@xla
def test_nan_and_infinity_affect_only_their_sentences(use_xla):
    crf, problem = made(), Problem.random(np.ones([5, 5]))
    problem.emissions[1, 2, 0], problem.emissions[3, 0, 1] = np.nan, np.inf
    tags, scores = crf.decode(problem.emissions, problem.mask, use_xla=use_xla)
    assert np.isnan(scores.numpy()).tolist() == [False, True, False, True, False]
    assert_same((tags, scores), expected_of(crf, chain.viterbi, *problem[:2]))


def test_new_scores_are_used():
    crf, emissions = made(None), tf.zeros([1, 2, 3])
    for best in (1, 2):
        crf.set_scores(np.zeros([3, 3]), 9.0 * np.eye(3)[best], 9.0 * np.eye(3)[best])
        assert crf.decode(emissions)[0].numpy().tolist() == [[best, best]]


def test_xla_gets_few_shapes(monkeypatch):
    shapes = set()

    def graph(*_):
        def run(emissions, mask, *handles):
            shapes.add(tuple(emissions.shape[:2]))
            assert mask.shape == emissions.shape[:2] and len(handles) == 3
            return tf.zeros(mask.shape, "int32"), tf.zeros(mask.shape[:1])

        return run

    monkeypatch.setattr(direct_calls, "_graph", graph)
    crf = made()
    for rows in (5, 6):
        for length in range(1, 33):
            tags, scores = crf.decode(np.zeros([rows, length, 3]), use_xla=True)
            assert tags.shape == (rows, length) and scores.shape == (rows,)
    assert shapes == {(6, length) for length in (*range(4, 16), 16, 20, 24, 28, 32)}


def test_a_tape_gets_the_gradient():
    crf, problem = made(None), Problem.random(MASKS)
    with tf.GradientTape() as tape:
        tags, score = crf.decode(problem.emissions, problem.mask)
        path = crf.path_score(problem.emissions, tags, problem.mask)
        total = tf.reduce_sum(score - 2.0 * path)
    weights = [w.value for w in crf.trainable_variables]
    with tf.GradientTape() as expected:
        path = -tf.reduce_sum(crf.path_score(problem.emissions, tags, problem.mask))
    got, wanted = tape.gradient(total, weights), expected.gradient(path, weights)
    assert_same([*map(tf.convert_to_tensor, got)], [*map(tf.convert_to_tensor, wanted)])


def test_who_can_call_directly():
    plain = tf.Variable([1.0])
    assert direct_calls.can_call([plain])
    assert not direct_calls.can_call([plain, tf.constant([1.0])])
    with tf.GradientTape():
        assert not direct_calls.can_call([plain])
    assert not tf.function(lambda: tf.constant(direct_calls.can_call([plain])))()
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        assert not direct_calls.can_call([tf.Variable([1.0])])


def test_weights_of_a_stateless_scope_are_used():
    crf = made(None)
    weights = [crf.start_weights, crf.end_weights]
    with keras.StatelessScope([(w, 9.0 * tf.eye(3)[1]) for w in weights]):
        tags, _ = crf.decode(tf.zeros([1, 1, 3]))
    assert tags.numpy().tolist() == [[1]]


def test_what_needs_no_check():
    x, mask = tf.zeros([2, 4, 3]), tf.ones([2, 4], "bool")
    assert direct_calls.are_given(x, mask, 3)
    others = [(x.numpy(), mask), (x, None), (x, mask.numpy()), (tf.cast(x, "float64"), mask)]
    others += [(x, tf.cast(mask, "int32")), (x, mask[:1]), (x, mask[0]), (x[0], mask)]
    for given in others:
        assert not direct_calls.are_given(*given, 3)
    assert not direct_calls.are_given(x, mask, 4)
