"""CRF layer: constraints, losses, fit, saving and export; test_chain.py tests the sums."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand.crf import constrained
from tests.closeness import assert_close
from tests.layers.ops.chain_paths_oracle import MASKS, Problem
from tfreps._src.layers.ops import chain
from tfreps.layers import CRF

eager = pytest.mark.usefixtures("eager_if_quick")

K = 3


def random_crf(problem, jit_compile=False, **options):
    """Returns a CRF without XLA by default, since compiling takes a second for each shape."""
    crf = CRF(len(problem.start), jit_compile=jit_compile, **options)
    crf.build(problem.emissions.shape)
    crf.set_scores(problem.transitions, problem.start, problem.end)
    return crf


def arguments(problem):
    return problem.emissions, problem.mask


# Tags O, B, I: no I at the start or after O. Row and column 3 are the start, 4 the end.
BIO = np.ones([5, 5], bool)
BIO[0, 2] = BIO[3, 2] = False


@pytest.mark.slow
def test_without_constraints_all_is_as_enumerated():
    problem = Problem.random(MASKS)
    crf = random_crf(problem)
    np.testing.assert_array_equal(crf.transitions, problem.transitions)
    np.testing.assert_array_equal(crf.start_scores, problem.start)
    np.testing.assert_array_equal(crf.end_scores, problem.end)
    tags, scores = crf.decode(*arguments(problem))
    many, their_scores = crf.decode(*arguments(problem), k=3)
    marginals = crf.marginals(*arguments(problem))
    likelihood = crf.log_likelihood(problem.emissions, tags, problem.mask)
    path_score = crf.path_score(problem.emissions, tags, problem.mask)
    for row in range(len(MASKS)):
        best, score = problem.best(row)[0]
        assert tuple(tags[row].numpy()[problem.mask[row]]) == best
        assert_close(scores[row], score, magnitude=problem.magnitude)
        assert_close(path_score[row], score, magnitude=problem.magnitude)
        assert_close(
            likelihood[row], score - problem.log_normalizer(row), magnitude=problem.magnitude
        )
        assert_close(marginals[row], problem.marginals(row), magnitude=problem.magnitude)
        expected = [score for _, score in problem.best(row, 3)]
        assert_close(their_scores[row, : len(expected)], expected, magnitude=problem.magnitude)
    assert many.shape == (len(MASKS), 3, 4)


@eager
@pytest.mark.few(1)
@pytest.mark.parametrize("constrain", ["both", "decode"])
def test_constraints(constrain):
    problem = Problem.random(MASKS)
    crf = random_crf(problem, allowed_transitions=BIO, constrain=constrain)
    rules = Problem(*problem[:2], *constrained(BIO, *problem[2:]))
    tags, scores = crf.decode(*arguments(problem))
    likelihood = crf.log_likelihood(problem.emissions, tags, problem.mask)
    marginals = crf.marginals(*arguments(problem))
    for row in range(len(MASKS)):
        best, score = rules.best(row)[0]
        assert tuple(tags[row].numpy()[problem.mask[row]]) == best
        assert_close(scores[row], score, magnitude=problem.magnitude)
        assert_close(marginals[row], rules.marginals(row), magnitude=problem.magnitude)
        in_loss = rules if constrain == "both" else problem
        assert_close(
            likelihood[row], score - in_loss.log_normalizer(row), magnitude=problem.magnitude
        )


def is_legal(tags, allowed=BIO):
    path = [3, *tags, 4]
    return all(allowed[a, b] for a, b in zip(path, path[1:], strict=False)) or len(tags) == 0


@eager
@pytest.mark.few(1)
@pytest.mark.parametrize("scale", [1.0, 60.0, 1e4])
def test_no_illegal_sequence_comes_out(scale):
    problem = Problem.random(np.random.default_rng(0).random((30, 25)) < 0.8, scale=scale)
    problem.emissions[:5] = np.nan
    problem.emissions[5:20, :, 2] += 1e6  # favors I, which is only legal after B or I
    crf = random_crf(problem, allowed_transitions=BIO.tolist())
    for tags in (
        crf.decode(*arguments(problem))[0][:, None],
        crf.decode(*arguments(problem), k=3)[0],
    ):
        for row, mask in enumerate(problem.mask):
            assert all(is_legal(path[mask]) for path in tags.numpy()[row])
    loss = crf.loss(problem.emissions[5:], np.ones([25, 25], int), problem.mask[5:])
    assert np.isfinite(loss)


def test_illegal_gold_tags_cost_much_but_not_infinitely():
    problem = Problem.random([[1, 1, 1]])
    crf = random_crf(problem, allowed_transitions=BIO)
    for gold, illegal in (([0, 0, 0], 0), ([0, 2, 2], 1), ([2, 0, 2], 2)):
        with tf.GradientTape() as tape:
            loss = crf.loss(problem.emissions, [gold], problem.mask)
        assert float(loss) == pytest.approx(1e4 * illegal, abs=20.0)
        gradients = tape.gradient(loss, [w.value for w in crf.trainable_variables])
        assert all(np.isfinite(g).all() for g in gradients)
        assert gradients[1][0, 2] == 0.0  # forbidden steps are not learned


@pytest.mark.slow
def test_a_length_that_no_legal_sequence_has():
    """Only the sequence 0 1 is legal, so that three tokens give no gradient."""
    allowed = np.zeros([4, 4], bool)
    allowed[2, 0] = allowed[0, 1] = allowed[1, 3] = True
    problem = Problem.random([[1, 1, 0], [1, 1, 1]], num_tags=2)
    crf = random_crf(problem, allowed_transitions=allowed)
    tags, score = crf.decode(*arguments(problem))
    assert tags[0].numpy().tolist() == [0, 1, 0] and score[1] == -np.inf
    with tf.GradientTape() as tape:
        emissions = tf.constant(problem.emissions)
        tape.watch(emissions)
        value = crf.log_likelihood(emissions, [[0, 1, 0], [0, 1, 1]], problem.mask)
    assert value.numpy() == pytest.approx([0.0, -1e4], abs=20.0)
    assert_close(tape.gradient(value, emissions), 0.0)


@pytest.mark.parametrize("jit_compile", [pytest.param("auto", marks=pytest.mark.slow), False])
def test_weights_of_sentences_and_of_tokens(jit_compile):
    problem = Problem.random(MASKS)
    crf = random_crf(problem, jit_compile=jit_compile)
    tags = np.random.default_rng(1).integers(0, K, problem.mask.shape)
    value = -crf.log_likelihood(problem.emissions, tags, problem.mask).numpy()
    weights = np.array([1.0, 0.5, 2.0, 0.0, 1.0, 3.0, 1.0], "float32")

    def loss(sample_weight):
        return value_and_gradients(crf, problem, tags, sample_weight)

    assert_close(loss(None)[0], value.mean())
    expected = loss(weights)
    assert_close(expected[0], (weights * value).mean())
    for one, other in zip(loss(np.repeat(weights[:, None], 4, 1)), expected, strict=True):
        assert_close(one, other)
    some = np.random.default_rng(2).random(problem.mask.shape).astype("float32")
    single = np.eye(4, dtype="float32")[:, None] * np.ones([4, 7, 1], "float32")
    parts = [loss(some * one)[0] for one in single]  # the loss is a sum over tokens
    assert_close(sum(parts), loss(some)[0])


def value_and_gradients(crf, problem, tags, sample_weight=None):
    emissions = tf.constant(problem.emissions)
    with tf.GradientTape() as tape:
        tape.watch(emissions)
        loss = crf.loss(emissions, tags, problem.mask, sample_weight)
    return [loss, *tape.gradient(loss, [emissions, *[w.value for w in crf.trainable_variables]])]


def assert_same(got, expected):
    for a, b in zip(tf.nest.flatten(got), tf.nest.flatten(expected), strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if a.dtype == tf.int32:
            np.testing.assert_array_equal(a, b)
        else:
            assert_close(a, b)


def bio_crf(allowed=BIO, **options):
    """Returns a CRF with integer scores, and a function that calls a chain function with them."""
    crf = CRF(3, allowed_transitions=allowed, **options)
    crf.build([None, None, 3])
    rng = np.random.default_rng(1)
    scores = [rng.integers(-2, 3, size) for size in ([3, 3], [3], [3])]
    crf.set_scores(*scores)
    transitions, start, end = (np.float32(score) for score in scores)
    if allowed is not None:
        transitions[0, 2] = start[2] = -np.inf

    def plain(function, emissions, mask, **options):
        emissions = tf.cast(emissions, "float32")
        return function(emissions, mask, transitions, start, end, **options)

    return crf, plain


eager_xla = pytest.mark.parametrize(
    "jit_compile", [False, pytest.param(True, marks=pytest.mark.slow)]
)


@pytest.mark.few(4)
@pytest.mark.parametrize("shape", [(1, 4), (5, 17), (0, 4), (3, 0)])
@pytest.mark.parametrize("scale", [1.0, 0.0, 1e30])
@eager_xla
def test_eager_calls_decode_ties_as_plain_operations_do(shape, scale, jit_compile):
    """Small integers have many paths of equal score; each must resolve to the same one."""
    crf, plain = bio_crf()
    rng = np.random.default_rng(0)
    emissions = np.float32(scale) * rng.integers(0, 2, [*shape, 3]).astype("float32")
    mask = rng.random(shape) < 0.7
    emissions[~mask] = np.nan
    got = crf.decode(emissions, mask, jit_compile=jit_compile)
    assert_same(got, plain(chain.viterbi, emissions, mask))


@pytest.mark.slow
@eager_xla
@pytest.mark.parametrize(
    "options", [{}, {"allowed": None}, {"transition_learning_rate_factor": 8.0}]
)
def test_eager_calls_of_all_functions(options, jit_compile):
    crf, plain = bio_crf(**options)
    problem = Problem.random([[*row, 1] for row in MASKS])
    given = tf.cast(problem.emissions, "bfloat16"), problem.mask
    assert_same(crf.decode(*given, jit_compile=jit_compile), plain(chain.viterbi, *given))
    for k in (1, 3):
        assert_same(
            crf.decode(*given, k=k, jit_compile=jit_compile), plain(chain.k_best, *given, k=k)
        )
    for name in ("marginals", "log_normalizer"):
        got = getattr(crf, name)(*given, jit_compile=jit_compile)
        assert_same(got, plain(getattr(chain, name), *given))


@eager_xla
def test_nan_and_infinity_affect_only_their_sentences(jit_compile):
    crf, plain = bio_crf()
    problem = Problem.random(np.ones([5, 5]))
    problem.emissions[1, 2, 0], problem.emissions[3, 0, 1] = np.nan, np.inf
    tags, scores = crf.decode(problem.emissions, problem.mask, jit_compile=jit_compile)
    assert np.isnan(scores.numpy()).tolist() == [False, True, False, True, False]
    assert_same((tags, scores), plain(chain.viterbi, *problem[:2]))


def test_new_scores_are_used():
    crf, _ = bio_crf(None)
    for best in (1, 2):
        crf.set_scores(np.zeros([3, 3]), 9.0 * np.eye(3)[best], 9.0 * np.eye(3)[best])
        assert crf.decode(tf.zeros([1, 2, 3]))[0].numpy().tolist() == [[best, best]]
    weights = [crf.start_weights, crf.end_weights]
    with keras.StatelessScope([(w, 9.0 * tf.eye(3)[1]) for w in weights]):
        assert crf.decode(tf.zeros([1, 1, 3]))[0].numpy().tolist() == [[1]]


@eager
def test_a_tape_gets_the_gradient_of_a_decoded_path():
    crf, _ = bio_crf(None)
    problem = Problem.random(MASKS)
    with tf.GradientTape(persistent=True) as tape:
        tags, score = crf.decode(problem.emissions, problem.mask)
        score = tf.reduce_sum(score)
        path = tf.reduce_sum(crf.path_score(problem.emissions, tags, problem.mask))
    weights = [w.value for w in crf.trainable_variables]
    for got, wanted in zip(
        tape.gradient(score, weights), tape.gradient(path, weights), strict=True
    ):
        assert_close(tf.convert_to_tensor(got), tf.convert_to_tensor(wanted))


@pytest.mark.slow
@pytest.mark.parametrize("allowed", [None, BIO], ids=["free", "constrained"])
def test_eager_graph_and_xla_agree(allowed):
    problem = Problem.random(MASKS)
    tags = np.where([[1, 1, 0, 0]] * len(problem.mask), 1, 2)
    results = []
    for how, jit_compile in ((None, "auto"), (None, False), (False, False), (True, False)):
        crf = random_crf(problem, allowed_transitions=allowed, jit_compile=jit_compile)
        run = functools.partial(value_and_gradients, crf, problem, tags)
        run = run if how is None else tf.function(run, jit_compile=how)
        results.append(tf.nest.flatten(run()))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert_close(a, b)


@eager
def test_partly_tagged_sentences():
    problem = Problem.random(MASKS)
    crf = random_crf(problem)
    sets = np.random.default_rng(4).random((len(MASKS), 4, K)) < 0.6
    sets[0, 2], sets[1] = False, True  # no possible tag; all tags possible
    got = crf.partial_log_likelihood(problem.emissions, sets, problem.mask)
    for row, mask in enumerate(problem.mask):
        allowed = sets[row][mask]
        kept = [
            score
            for tags, score in problem.paths(row)
            if all(allowed[t, tag] for t, tag in enumerate(tags))
        ]
        expected = np.logaddexp.reduce(kept) - problem.log_normalizer(row) if kept else -1e4
        assert_close(got[row], expected, magnitude=problem.magnitude)
    tags = np.random.default_rng(1).integers(0, K, problem.mask.shape)
    one = crf.partial_log_likelihood(problem.emissions, np.eye(K)[tags] > 0, problem.mask)
    whole = crf.log_likelihood(problem.emissions, tags, problem.mask)
    assert_close(one, whole)


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "rmsprop"])
def test_the_learning_rate_of_transitions_is_multiplied(optimizer):
    problem = Problem.random(MASKS)
    tags = np.random.default_rng(1).integers(0, K, problem.mask.shape)
    moved = []
    for rate in (1.0, 10.0):
        crf = random_crf(problem, transition_learning_rate_factor=rate)
        start = crf.transitions.numpy()
        gradients = value_and_gradients(crf, problem, tags)[2:]
        step = keras.optimizers.get({"class_name": optimizer, "config": {"learning_rate": 1e-3}})
        step.apply(gradients, crf.trainable_variables)
        moved.append(crf.transitions.numpy() - start)
    assert moved[1] == pytest.approx(10.0 * moved[0], rel=1e-3)  # Adam adds 1e-7 to a gradient


def test_initializers_and_regularizers_are_of_scores():
    crf = CRF(
        2,
        transition_learning_rate_factor=8.0,
        start_initializer=keras.initializers.Constant(0.5),
        transition_initializer={"class_name": "Constant", "config": {"value": -2.0}},
        end_initializer="ones",
        score_regularizer=keras.regularizers.L2(0.1),
    )
    crf.build((None, None, 2))
    assert_close(crf.start_scores, [0.5, 0.5])
    assert_close(crf.transitions, [[-2.0, -2.0]] * 2)
    assert_close(crf.end_scores, [1.0, 1.0])
    # Keras 3.12, the last version for Python 3.10, requires a Regularizer.
    assert isinstance(crf.transition_weights.regularizer, keras.regularizers.Regularizer)
    assert_close(sum(crf.losses), 0.1 * (0.5 + 16.0 + 2.0))
    with tf.GradientTape() as tape:
        penalty = sum(crf.losses)
    # It is the gradient of the scores, neither multiplied nor divided by 8, as for the loss.
    assert_close(tape.gradient(penalty, crf.transition_weights), np.full([2, 2], 2 * 0.1 * -2.0))
    copy = CRF.from_config(crf.get_config())
    copy.build((None, None, 2))
    assert_close(copy.start_scores, crf.start_scores)
    assert_close(sum(copy.losses), sum(crf.losses))


@pytest.mark.few(1)
@pytest.mark.parametrize("jit_compile", [False, True])
@pytest.mark.parametrize("weights", [None, np.ones([1]), np.ones([1, 3])])
@pytest.mark.parametrize("tag", [-1, 2])
def test_a_tag_that_does_not_exist(tag, weights, jit_compile):
    crf = CRF(2, jit_compile=jit_compile)
    tags, mask = np.array([[0, tag, 1]]), np.array([[True, True, True]])
    emissions = np.zeros([1, 3, 2])
    ends = rf"\[{min(tag, 0)} +{max(tag, 1)}\]"
    message = rf"(?s)`tags` must lie in 0..1, .* -1 .* `sample_weight` of 0.*{ends}"
    for call in (
        lambda: crf.loss(emissions, tags, mask, weights),
        lambda: crf.log_likelihood(emissions, tags, mask),
        lambda: crf.path_score(emissions, tags, mask),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            call()
    mask[0, 1] = False
    assert_close(float(crf.loss(np.zeros([1, 3, 2]), tags, mask, weights)), np.log(4))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_low_precision_emissions_are_added_up_in_float32(dtype):
    problem = Problem.random(np.ones([2, 300]))
    emissions = tf.cast(problem.emissions, dtype)
    crf = random_crf(problem, dtype=f"mixed_{dtype}")
    tags, score = crf.decode(emissions)
    value = crf.log_likelihood(emissions, tags)
    assert score.dtype == value.dtype == tf.float32
    exact = crf.log_likelihood(tf.cast(emissions, "float32"), tags)
    np.testing.assert_array_equal(value, exact)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"num_tags": 0}, "`num_tags` must be"),
        ({"num_tags": 2.5}, "`num_tags` must be"),
        ({"num_tags": 2, "constrain": "loss"}, "must be one of"),
        ({"num_tags": 2, "transition_learning_rate_factor": 0.0}, "above 0"),
        ({"num_tags": 2, "jit_compile": "never"}, '"auto", True or False'),
        ({"num_tags": 2, "allowed_transitions": np.ones([2, 2], bool)}, r"\[4, 4\]"),
    ],
)
def test_impossible_options(options, message):
    with pytest.raises(ValueError, match=message):
        CRF(**options)


def test_weights_of_another_rank_are_an_error():
    with pytest.raises(ValueError, match=r"\[B\] or \[B, T\]"):
        CRF(2).loss(np.zeros([1, 2, 2]), [[0, 1]], sample_weight=1.0)


def test_another_number_of_scores_is_an_error():
    with pytest.raises(ValueError, match="3 tags"):
        CRF(3)(np.zeros([1, 2, 4]))


def test_scores_are_read_and_set_only_in_a_built_layer():
    crf = CRF(2, name="tags")
    expected = r"'tags' must be built before .* Call `build\(\[None, None, 2\]\)` first"
    with pytest.raises(ValueError, match=expected):
        crf.set_scores(start_scores=[0, 1])
    for name in ("transitions", "start_scores", "end_scores"):
        with pytest.raises(ValueError, match=expected):
            getattr(crf, name)
    crf.build([None, None, 2])
    crf.set_scores(start_scores=[0, 1])
    assert np.array(crf.start_scores).tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"`transitions` must have the shape \(2, 2\), because"):
        crf.set_scores(transitions=[0, 1])


def crf_model(**options):
    x, y = keras.Input([None, 2]), keras.Input([None], dtype="int32")
    dense = keras.layers.Dense(3, kernel_initializer="ones", kernel_regularizer="l2")
    model = keras.Model([x, y], CRF(3, **options)(dense(x), tags=y)[0])
    model.compile("sgd")
    return model


@pytest.mark.slow
def test_a_tag_that_does_not_exist_in_fit():
    with pytest.raises(tf.errors.InvalidArgumentError, match="`tags` must lie in 0..2"):
        crf_model().fit([np.zeros([2, 4, 2]), np.full([2, 4], 7)], verbose=0)


@pytest.mark.slow
@pytest.mark.parametrize("regularizer", ["l2", None])
def test_losses_of_other_layers_in_float64(regularizer, floatx64):
    """Four tokens with equal scores and three tags, and an L2 penalty of 0.01 on six ones."""
    model = crf_model(score_regularizer=regularizer)
    loss = model.evaluate([np.zeros([2, 4, 2]), np.ones([2, 4], int)], verbose=0)
    assert_close(loss, 4 * np.log(3) + 0.06)
    assert {term.dtype for term in model.losses} == {tf.float64}


def test_the_mask_of_keras_is_used():
    """Old models with `mask_zero=True` train on the same loss as with an explicit mask."""
    words, tags = np.array([[3, 5, 2, 0, 0], [4, 1, 0, 0, 0]]), np.array([[0, 1, 2, 0, 0]] * 2)
    embedding, dense = keras.layers.Embedding(9, 4, mask_zero=True), keras.layers.Dense(3)
    crf = CRF(3, transition_initializer="random_normal")
    x, y = keras.Input([None], dtype="int32"), keras.Input([None], dtype="int32")
    losses = {}
    for name, mask in (
        ("implicit", None),
        ("explicit", x != 0),
        ("none", keras.ops.ones_like(x) > 0),
    ):
        model = keras.Model([x, y], crf(dense(embedding(x)), mask=mask, tags=y)[0])
        model([words, tags])
        losses[name] = float(sum(model.losses))
    assert_close(losses["implicit"], losses["explicit"])
    assert losses["implicit"] < losses["none"] - 0.5
    with_feature = keras.layers.Concatenate()([embedding(x), keras.layers.Embedding(9, 2)(y)])
    with pytest.raises(ValueError, match=r"as in `crf\(emissions, mask=mask\)`"):
        CRF(3)(keras.layers.Dense(3)(with_feature))
    CRF(3)(keras.layers.Dense(3)(with_feature), mask=x != 0)
