"""Linear chains against the enumeration of all paths."""

import functools

import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand import crf
from tests.closeness import assert_close
from tests.layers.ops.chain_paths_oracle import MASKS, Problem
from tfreps._src.layers.ops import chain, chain_gradient

# XLA takes seconds to compile. `test_crf` tests the compiled functions as `CRF` uses them.
WAYS = ["eager", "graph", pytest.param("XLA", marks=pytest.mark.slow)]
every_way = pytest.mark.parametrize("how", WAYS)


@functools.cache  # compiled once for each shape
def called(function, how):
    return function if how == "eager" else tf.function(function, jit_compile=how == "XLA")


def forbidding():
    """Returns scores that forbid a step, a start (with -1e33 instead of -inf) and an end."""
    problem = Problem.random(MASKS)
    problem.transitions[0, 1] = -np.inf
    problem.start[2], problem.end[0] = -1e33, -np.inf
    return problem


def far_apart():
    """Returns scores that underflow in probability space.

    Tags differ by two hundred nats per token, yet a tag can only follow itself.
    """
    problem = Problem.random([[1] * 6, [1, 1, 0, 1, 1, 1]], scale=60.0)
    problem.transitions[~np.eye(3, dtype=bool)] = -np.inf
    return problem


PROBLEMS = {
    "three tags": lambda: Problem.random(MASKS),
    "one tag": lambda: Problem.random(MASKS, num_tags=1),
    "forbidden steps": forbidding,
    "wide scores": lambda: Problem.random(MASKS, scale=100.0),
    "far apart": far_apart,
}
every_problem = pytest.mark.parametrize("name", PROBLEMS)
# The operations of a graph are those of eager calls; a quick test of gradients builds one.
CASES = [(name, "eager") for name in PROBLEMS]
CASES += [
    pytest.param(name, how, marks=pytest.mark.slow) for how in ("graph", "XLA") for name in PROBLEMS
]
every_case = pytest.mark.parametrize("name, how", CASES)


def rows(problem):
    return range(len(problem.mask))


@every_case
def test_the_log_normalizer_is_the_sum_over_all_paths(name, how):
    problem = PROBLEMS[name]()
    expected = [problem.log_normalizer(row) for row in rows(problem)]
    got = called(chain.log_normalizer, how)(*problem)
    assert got.dtype == tf.float32
    assert_close(got, expected, magnitude=problem.magnitude)


@every_case
def test_marginals_are_those_of_all_paths(name, how):
    problem = PROBLEMS[name]()
    got = called(chain.marginals, how)(*problem).numpy()
    for row in rows(problem):
        # An error of a score is a relative error of its exponential.
        assert_close(got[row], problem.marginals(row), magnitude=problem.magnitude)
    np.testing.assert_array_equal(got[~problem.mask], 0.0)


@every_case
def test_viterbi_finds_the_best_path(name, how):
    problem = PROBLEMS[name]()
    tags, scores = called(chain.viterbi, how)(*problem)
    assert tags.dtype == tf.int32 and scores.dtype == tf.float32
    for row in rows(problem):
        ((best, score),) = problem.best(row)
        assert tuple(tags.numpy()[row][problem.mask[row]]) == best
        assert_close(scores[row], score, magnitude=problem.magnitude)
    np.testing.assert_array_equal(tags.numpy()[~problem.mask], 0)


@every_case
def test_k_best_are_the_first_of_all_paths(name, how):
    problem, k = PROBLEMS[name](), 7
    tags, scores = (x.numpy() for x in called(chain.k_best, how)(*problem, k=k))
    assert tags.shape == (len(problem.mask), k, problem.mask.shape[1])
    for row in rows(problem):
        possible = [path for path in problem.best(row, k) if path[1] > -1e30]
        assert [tuple(t[problem.mask[row]]) for t in tags[row, : len(possible)]] == [
            path for path, _ in possible
        ]
        expected = [score for _, score in possible] + [-np.inf] * (k - len(possible))
        assert_close(scores[row], expected, magnitude=problem.magnitude)
        assert (tags[row, len(possible) :] == 0).all() and (
            tags[row, :, ~problem.mask[row]] == 0
        ).all()


@pytest.mark.few(2)
@every_way
@pytest.mark.parametrize("name", ["three tags", "one tag", "forbidden steps", "wide scores"])
def test_path_scores(name, how):
    problem = PROBLEMS[name]()
    run = called(chain.path_score, how)
    for row in rows(problem):
        for path, score in list(problem.paths(row))[::5]:
            tags = np.full(problem.mask.shape, 77)  # ignored where masked
            tags[row, problem.mask[row]] = path
            got = run(problem.emissions, tags, *problem[1:])[row]
            if score > -1e30:
                assert_close(got, score, magnitude=problem.magnitude)
            else:
                assert got < -1e30


def gradients(function, problem):
    e, mask, *scores = (tf.constant(x) for x in problem)
    with tf.GradientTape() as tape:
        tape.watch([e, *scores])
        total = tf.reduce_sum(function(e, mask, *scores) * WEIGHTS[: len(mask)])
    return [d.numpy() for d in tape.gradient(total, [e, *scores])]


WEIGHTS = np.array([1.0, -2.0, 0.5, 1.0, 1.0, 3.0, 5.0], "float32")


@pytest.mark.few(1)
@every_way
def test_the_gradient_is_the_slope(how):
    problem = Problem.random(MASKS)
    got = gradients(called(chain.log_normalizer, how), problem)
    assert_slopes(got, problem, lambda p, row: p.log_normalizer(row))


@pytest.mark.slow
@every_way
def test_the_gradient_of_token_probabilities_is_the_slope(how):
    problem, tags = Problem.random(MASKS), TAGS
    weights = np.random.default_rng(3).normal(size=tags.shape).astype("float32")

    def weighted(emissions, *rest):
        value = chain.token_log_probabilities(emissions, tags, *rest)
        return tf.reduce_sum(weights * value, 1)

    def expected(p, row):
        return sum(weights[row, t] * value for t, value in token_values(p, row, tags[row]))

    assert_slopes(gradients(called(weighted, how), problem), problem, expected)


TAGS = np.random.default_rng(1).integers(0, 3, [len(MASKS), 4]).astype("int32")


def token_values(problem, row, tags):
    """Returns `(position, log p(tag | previous tags))` of each real token, from sums of paths."""
    positions, before = np.flatnonzero(problem.mask[row]), problem.log_normalizer(row)
    for number, t in enumerate(positions):
        prefix = tuple(tags[positions[: number + 1]])
        kept = [s for path, s in problem.paths(row) if path[: number + 1] == prefix]
        total = crf.log_sum_exp(kept)
        yield t, total - before
        before = total


def assert_slopes(got, problem, function):
    """Compares `got` with central differences of the weighted sum of `function` in float64."""
    size = np.abs(WEIGHTS).max()  # size of the summands, some of which cancel
    np.testing.assert_array_equal(got[0][~problem.mask], 0.0)
    for row in rows(problem):

        def of_row(emissions, row=row):
            moved = np.where(np.arange(len(MASKS))[:, None, None] == row, emissions, np.nan)
            return WEIGHTS[row] * function(problem._replace(emissions=moved), row)

        slopes = crf.slopes(of_row, problem.emissions[row])
        assert_close(got[0][row], slopes, magnitude=size, name="emissions")
    for which, place in enumerate(("transitions", "start", "end"), 1):

        def of_all(scores, place=place):
            p = problem._replace(**{place: scores})
            return sum(WEIGHTS[row] * function(p, row) for row in rows(p))

        slopes = crf.slopes(of_all, getattr(problem, place))
        assert_close(got[which], slopes, magnitude=size, name=place)


@every_problem
def test_probabilities_of_tokens_given_those_before(name):
    problem = PROBLEMS[name]()
    if name == "far apart":
        tags = np.repeat(problem.best(0)[0][0][:1], 12).reshape(2, 6)
    else:
        tags = TAGS % len(problem.start)
    got = chain.token_log_probabilities(problem.emissions, tags, *problem[1:]).numpy()
    np.testing.assert_array_equal(got[~problem.mask], 0.0)
    for row in rows(problem):
        for t, value in token_values(problem, row, tags[row]):
            if value > -1e30:
                # The results are differences of sums over the whole path.
                assert_close(got[row, t], value, magnitude=2 * problem.magnitude)
            else:  # the path is impossible here or at an earlier token
                assert got[row, t] < -1e29
                break


@pytest.mark.parametrize("space", ["probability", "log"])
def test_no_path_at_all(space, monkeypatch):
    """Two tags without any legal step allow at most one token."""
    if space == "log":
        monkeypatch.setattr(chain_gradient, "SMALLEST", 2.0)
    zeros, mask = tf.zeros([3, 2, 2]), tf.constant([[1, 1], [0, 1], [0, 0]]) > 0
    scores = tf.fill([2, 2], float("-inf")), tf.ones(2), tf.zeros(2)
    with tf.GradientTape() as tape:
        tape.watch(zeros)
        total = chain.log_normalizer(zeros, mask, *scores)
    assert_close(total, [-np.inf, 1 + np.log(2), 0.0])
    expected = [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.5, 0.5]], [[0.0, 0.0], [0.0, 0.0]]]
    assert_close(tape.gradient(total, zeros), expected)
    assert_close(chain.marginals(zeros, mask, *scores), expected)
    assert chain.viterbi(zeros, mask, *scores)[1].numpy().tolist() == [-np.inf, 1.0, 0.0]


@pytest.mark.parametrize("space", ["fast", "log"])
def test_a_token_that_may_have_no_tag(space, monkeypatch):
    if space == "log":
        monkeypatch.setattr(chain_gradient, "SMALLEST", 2.0)
    emissions = tf.constant([[[-np.inf, -np.inf], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]])
    mask, scores = tf.ones([2, 2], "bool"), (tf.zeros([2, 2]), tf.zeros(2), tf.zeros(2))
    total = chain.log_normalizer(emissions, mask, *scores)
    assert_close(total, [-np.inf, np.log(4)])
    expected = [np.zeros([2, 2]), np.full([2, 2], 0.5)]
    assert_close(chain.marginals(emissions, mask, *scores), expected)


def test_no_position_and_no_sentence():
    scores = tf.zeros([3, 3]), tf.zeros(3), tf.zeros(3)
    for batch, length in ((2, 0), (0, 2), (0, 0)):
        emissions, mask = tf.zeros([batch, length, 3]), tf.ones([batch, length], "bool")
        expected = [0.0] * batch if length == 0 else []
        assert chain.log_normalizer(emissions, mask, *scores).numpy().tolist() == expected
        assert chain.marginals(emissions, mask, *scores).shape == (batch, length, 3)
        tags, score = chain.viterbi(emissions, mask, *scores)
        assert tags.shape == (batch, length) and score.numpy().tolist() == expected
        assert chain.k_best(emissions, mask, *scores, k=2)[0].shape == (batch, 2, length)
        tags = tf.zeros([batch, length], "int32")
        assert chain.token_log_probabilities(emissions, tags, mask, *scores).shape == tags.shape


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_stays_in_its_sentence(bad):
    problem = Problem.random([[1, 1, 1], [1, 1, 1]])
    problem.emissions[0, 1, 2] = bad
    (best, score), tags = problem.best(1)[0], np.zeros([2, 3], int)
    assert np.isnan(chain.log_normalizer(*problem)[0])
    assert_close(
        chain.log_normalizer(*problem)[1], problem.log_normalizer(1), magnitude=problem.magnitude
    )
    assert np.isnan(gradients(chain.log_normalizer, problem)[0][0]).any()
    decoded, scores = chain.viterbi(*problem)
    assert np.isnan(scores[0]) and tuple(decoded[1].numpy()) == best
    assert_close(scores[1], score, magnitude=problem.magnitude)
    zeros = problem._replace(emissions=np.zeros_like(problem.emissions))
    assert tuple(decoded[0].numpy()) == zeros.best(0)[0][0]
    tags[0, 1] = 2
    total = chain.path_score(problem.emissions, tags, *problem[1:])
    assert not np.isfinite(total[0]) and np.isfinite(total[1])


@pytest.mark.parametrize("tag", [-1, 3])
def test_a_tag_that_does_not_exist_gives_nan(tag):
    problem, tags = Problem.random([[1, 1, 0], [1, 1, 0]]), np.zeros([2, 3], int)
    tags[1, 1] = tags[0, 2] = tag
    scores = chain.path_score(problem.emissions, tags, *problem[1:]).numpy()
    assert np.isfinite(scores[0]) and np.isnan(scores[1])


def test_there_is_no_second_derivative():
    problem = [tf.constant(x) for x in Problem.random([[1, 1]])]
    with tf.GradientTape() as outer:
        outer.watch(problem[0])
        with tf.GradientTape() as inner:
            inner.watch(problem[0])
            total = chain.log_normalizer(*problem)
        first = inner.gradient(total, problem[0])
    with pytest.raises(LookupError, match="no second derivative"):
        outer.gradient(first, problem[0])


def test_the_worked_example_of_the_article():
    """Checks Li Hang's box example: for observations 0, 1, 0 the best path is 2, 2, 2."""
    steps = np.log([[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.2, 0.3, 0.5]])
    colors = np.log([[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]])
    start, end = np.log([0.2, 0.4, 0.4]), np.zeros(3)
    emissions = colors.T[[0, 1, 0]]  # [T, K]
    tags, score = chain.viterbi(emissions[None], None, steps, start, end)
    assert tags.numpy().tolist() == [[2, 2, 2]]
    assert_close(np.exp(score), [0.0147])
    # Best path to each tag at the second token, and its previous tag.
    for tag, (value, pointer) in enumerate([(0.028, 2), (0.0504, 2), (0.042, 2)]):
        only = np.where(np.arange(3) == tag, 0.0, -np.inf)
        tags, score = chain.viterbi(emissions[None, :2], None, steps, start, only)
        assert_close(np.exp(score), [value])
        assert tags.numpy().tolist() == [[pointer, tag]]


def test_agrees_with_tensorflow_text():
    text = pytest.importorskip("tensorflow_text")
    rng, sizes, tags = np.random.default_rng(5), np.array([7, 4, 1]), 6
    mask = np.arange(7) < sizes[:, None]
    e, steps = rng.normal(size=(3, 7, tags)), rng.normal(size=(tags + 1, tags + 1))
    allowed = rng.random((tags + 1, tags + 1)) < 0.7
    allowed[-1], allowed[:, -1] = True, True
    expected = text.viterbi_constrained_sequence(
        tf.constant(e, "float32"),
        sizes.astype("int32"),
        allowed_transitions=allowed,
        transition_weights=tf.constant(steps, "float32"),
        use_log_space=True,
        use_start_and_end_states=True,
    )
    steps = np.where(allowed, steps, -np.inf)
    got, _ = chain.viterbi(e, mask, steps[:-1, :-1], steps[-1, :-1], steps[:-1, -1])
    for row, size in enumerate(sizes):
        np.testing.assert_array_equal(got[row, :size], expected[row])
