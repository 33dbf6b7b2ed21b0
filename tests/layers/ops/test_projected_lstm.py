"""Hand-written gradient of projected_lstm against autodiff of a naive loop."""

import numpy as np
import pytest
import tensorflow as tf

from tests import oracles_tf
from tests.closeness import BFLOAT16, assert_close
from tfreps._src.layers.ops import matmul
from tfreps._src.layers.ops.projected_lstm import projected_lstm

STEPS, BATCH, DIM, UNITS = 7, 3, 4, 6
NAMES = "inputs", "hidden", "cell", "kernel", "bias", "projection"


def arguments(projected=True, seed=0):
    rng, dim = np.random.default_rng(seed), DIM if projected else UNITS

    def normal(*shape):
        return rng.normal(size=shape).astype("float32")

    values = [normal(STEPS, BATCH, dim), 0.3 * normal(BATCH, dim), 0.3 * normal(BATCH, UNITS)]
    values += [normal(2 * dim, 4 * UNITS), normal(4 * UNITS)]
    return [*values, normal(UNITS, DIM) if projected else None]


def swapped(x):
    """Reorders gates from i, f, g, o to i, g, f, o, the order of TF 1."""
    i, f, g, o = tf.split(x, 4, axis=-1)
    return tf.concat([i, g, f, o], axis=-1)


def value_and_gradients(run, values):
    """Returns a loss of all three results and its gradients with respect to all inputs."""
    weights = [np.random.default_rng(9).normal(size=s) for s in result_shapes(values)]
    watched = [value for value in values if value is not None]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        results = run(values)
        loss = sum(
            tf.reduce_sum(result * tf.cast(w, result.dtype))
            for result, w in zip(results, weights, strict=True)
        )
    return results, tape.gradient(loss, watched)


def result_shapes(values):
    hidden = values[1].shape[-1]
    return (STEPS, BATCH, hidden), (BATCH, hidden), (BATCH, UNITS)


def ours(mask, options, training, distinct=None):
    def run(values):
        inputs, hidden, cell, kernel, bias, projection = values
        given = None if mask is None else tf.cast(mask, "float32")
        weights = kernel, bias, projection
        return projected_lstm(inputs, given, hidden, cell, *weights, options, training, distinct)

    return run


def naive(mask, options):
    def run(values):
        inputs, hidden, cell, kernel, bias, projection = values
        clips = options["cell_clip"], options["projection_clip"]
        weights = swapped(kernel), swapped(bias), projection
        return oracles_tf.lstm(inputs, hidden, cell, *weights, *clips, mask)

    return run


MASK = (np.arange(STEPS)[:, None] < np.array([7, 4, 0]))[..., None]
CASES = {
    "both clips": (True, MASK, 0.4, 0.5),
    "both clips, all tokens real": (True, None, 0.4, 0.5),
    "no clips": (True, MASK, None, None),
    "cell clip alone": (True, MASK, 0.4, None),
    "no projection": (False, MASK, 0.4, None),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("page", [4096, 4 * 4 * UNITS])  # with the second, kernels are widened
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_value_and_gradient_are_those_of_the_naive_loop(
    case, training, compiled, page, monkeypatch
):
    monkeypatch.setattr(matmul, "PAGE", page)
    projected, mask, cell_clip, projection_clip = CASES[case]
    options = {"cell_clip": cell_clip, "projection_clip": projection_clip}
    values = arguments(projected)
    as32 = [None if v is None else tf.constant(v) for v in values]
    as64 = [None if v is None else tf.constant(v, "float64") for v in values]
    run = ours(mask, {**options, "compute_dtype": "float32"}, training)
    run = tf.function(run) if compiled else run
    results, gradients = value_and_gradients(run, as32)
    expected, expected_gradients = value_and_gradients(naive(mask, options), as64)
    assert_clips_bite(expected, options)
    for got, wanted in zip(results, expected, strict=True):
        assert_close(got, wanted)
    # float32 against float64 over 7 steps; the gradients are as large as several tens.
    for name, got, wanted in zip(NAMES, gradients, expected_gradients, strict=False):
        # Gradients are sums over all steps and rows.
        assert_close(got, wanted, name=name, terms=256)


def assert_clips_bite(results, options):
    outputs, _, cell = results
    if options["projection_clip"]:
        share = np.mean(np.abs(outputs) == options["projection_clip"])
        assert 0.05 < share < 0.95
    if options["cell_clip"]:
        assert 0.05 < np.mean(np.abs(cell) == options["cell_clip"]) < 0.95


def test_masked_steps_keep_the_state_and_give_zeros():
    options = {"cell_clip": 3.0, "projection_clip": 3.0, "compute_dtype": "float32"}
    inputs, hidden, cell, *weights = arguments()
    mask = tf.cast(MASK, "float32")
    outputs, last_hidden, last_cell = projected_lstm(inputs, mask, hidden, cell, *weights, options)
    np.testing.assert_array_equal(last_hidden[2], hidden[2])  # a sentence without tokens
    np.testing.assert_array_equal(last_cell[2], cell[2])
    np.testing.assert_array_equal(outputs[:, 2], 0.0)
    np.testing.assert_array_equal(outputs[4:, 1], 0.0)
    np.testing.assert_array_equal(outputs[3, 1], last_hidden[1])


def test_padding_reaches_no_gradient():
    options = {"cell_clip": 0.4, "projection_clip": 0.5, "compute_dtype": "float32"}
    values = [tf.constant(v) for v in arguments()]
    _, gradients = value_and_gradients(ours(MASK, options, True), values)
    d_inputs = gradients[0].numpy()
    assert (d_inputs[4:, 1] == 0.0).all() and (d_inputs[:, 2] == 0.0).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_low_precision_is_close_and_float32(dtype):
    options = {"cell_clip": 3.0, "projection_clip": 3.0}
    values = [tf.constant(0.3 * v) for v in arguments()]
    exact = value_and_gradients(ours(MASK, {**options, "compute_dtype": "float32"}, True), values)
    rough = value_and_gradients(ours(MASK, {**options, "compute_dtype": dtype}, True), values)
    for wanted, got in zip(tf.nest.flatten(exact), tf.nest.flatten(rough), strict=True):
        assert got.dtype == tf.float32
        assert_close(got, wanted, unit=BFLOAT16, terms=1)


def repeated(seed=1):
    """Returns three vectors, the index of each token's vector, and arguments for these tokens."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=[3, DIM]).astype("float32")
    which = rng.integers(3, size=[STEPS, BATCH]).astype("int32")
    return vectors, which, [vectors[which], *arguments()[1:]]


@pytest.mark.few(2)
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("training", [False, True])
def test_distinct_vectors_do_not_change_values_and_gradients(training, compiled):
    """The gradients include that of the distinct vectors, through the inputs only."""
    vectors, which, values = repeated()
    options = {"cell_clip": 0.4, "projection_clip": 0.5, "compute_dtype": "float32"}
    other = tf.where(MASK[..., 0], which, 0)  # the vectors of masked steps do not matter

    def run(values, shares):
        vectors, *rest = values
        distinct = (vectors, other) if shares else None
        run = ours(MASK, options, training, distinct=distinct)
        return run([tf.gather(vectors, which), *rest])

    run = tf.function(run) if compiled else run
    values = [tf.constant(value) for value in (vectors, *values[1:])]
    wanted = value_and_gradients(lambda values: run(values, False), values)
    got = value_and_gradients(lambda values: run(values, True), values)
    assert wanted[1][0].shape == vectors.shape
    for a, b in zip(tf.nest.flatten(wanted), tf.nest.flatten(got), strict=True):
        a, b = tf.convert_to_tensor(a), tf.convert_to_tensor(b)  # sparse gradients of the vectors
        assert_close(a, b)  # sums in another order


def test_distinct_vectors_are_what_is_multiplied():
    vectors, which, values = repeated()
    options = {"cell_clip": 3.0, "projection_clip": 3.0, "compute_dtype": "float32"}
    wanted = ours(None, options, False)(values)
    nothing = [np.zeros_like(values[0]), *values[1:]]
    got = ours(None, options, False, distinct=(vectors, which))(nothing)
    for a, b in zip(wanted, got, strict=True):
        assert_close(a, b)
