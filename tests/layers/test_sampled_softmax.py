"""SampledSoftmax against plain loops and against TensorFlow's own loss."""

import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand.language_model import full_softmax_loss, sampled_softmax_loss
from tests import oracles_tf
from tests.closeness import BFLOAT16, assert_close
from tfreps._src.layers import sampled_softmax
from tfreps.layers import SampledSoftmax

GROUPS, ROWS, DIM, SIZE, SAMPLED = 2, 6, 5, 30, 8
RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(GROUPS, ROWS, DIM)).astype("float32")
TARGETS = np.array([[0, 1, 2, 0, 29, 7], [1, 1, 0, 3, 15, 2]])  # frequent, so often drawn


def make(dtype="float32", **options):
    layer = SampledSoftmax(SIZE, seed=3, dtype=dtype, **options)
    layer.build((GROUPS, None, DIM))
    rng = np.random.default_rng(1)
    layer.bias.assign(rng.normal(size=SIZE))
    if not layer.tie_embeddings:
        layer.kernel.assign(rng.normal(size=(SIZE, DIM)))
    return layer


def kernel_and_bias(layer):
    return np.asarray(layer.kernel).astype(float), np.asarray(layer.bias).astype(float)


@pytest.mark.parametrize("training", [False, True])
def test_the_full_softmax_equals_the_loops(training):
    layer = make()
    nll, (kernel, bias) = layer(FEATURES, TARGETS, training=training), kernel_and_bias(layer)
    expected = [
        [full_softmax_loss(x, kernel, bias, t) for x, t in zip(*group, strict=True)]
        for group in zip(FEATURES.astype(float), TARGETS, strict=True)
    ]
    assert nll.dtype == tf.float32
    assert_close(nll, expected)


def test_evaluating_in_parts_is_evaluating_at_once(monkeypatch):
    whole = make()(FEATURES, TARGETS)
    for rows in (1, 5, 12):
        monkeypatch.setattr(sampled_softmax, "MAX_LOGITS", rows * SIZE)
        assert_close(make()(FEATURES, TARGETS), whole)
    assert make()(FEATURES[:, :0], TARGETS[:, :0]).shape == (GROUPS, 0)


def negatives_of(layer, step):
    """Returns the draws of the layer at a step, one set for each group."""
    drawn = [layer.sampler.draw([3, step * GROUPS + group]) for group in range(GROUPS)]
    return [(ids.numpy(), int(tries)) for ids, tries in drawn]


def test_the_sampled_softmax_equals_the_loops_and_draws_anew_at_each_step():
    layer, hits = make(num_sampled=SAMPLED), 0
    kernel, bias = kernel_and_bias(layer)
    for step in range(4):
        nll = layer(FEATURES, TARGETS, training=True)
        drawn = negatives_of(layer, step)
        assert int(layer.draws) == step + 1
        for g, (negatives, tries) in enumerate(drawn):
            hits += np.isin(TARGETS[g], negatives).sum()
            for n in range(ROWS):
                x, target = FEATURES[g, n].astype(float), TARGETS[g, n]
                expected = sampled_softmax_loss(x, kernel, bias, target, negatives, tries)
                # The terms of a sum over the negatives and of products with the features.
                assert_close(nll[g, n], expected, terms=256)
    assert hits > 10
    assert set(negatives_of(layer, 0)[0][0]) != set(negatives_of(layer, 0)[1][0])


@pytest.mark.few(1)
@pytest.mark.parametrize("compiled", [False, True])
def test_value_and_gradient_are_those_of_tensorflows_loss(compiled):
    layer = make(num_sampled=SAMPLED)
    call = tf.function(layer) if compiled else layer
    scale = np.random.default_rng(2).normal(size=TARGETS.shape)
    x = tf.constant(FEATURES)
    with tf.GradientTape() as tape:
        tape.watch(x)
        nll = call(x, tf.constant(TARGETS), training=True)
        loss = tf.reduce_sum(nll * scale.astype("float32"))
    d_x, d_kernel, d_bias = tape.gradient(loss, [x, layer.kernel.value, layer.bias.value])

    x64 = tf.constant(FEATURES, "float64")
    kernel, bias = map(tf.constant, kernel_and_bias(layer))
    with tf.GradientTape() as tape:
        tape.watch([x64, kernel, bias])
        theirs = tf.stack(
            [
                oracles_tf.sampled_softmax_nll(x64[g], kernel, bias, TARGETS[g], *drawn)
                for g, drawn in enumerate(negatives_of(layer, 0))
            ]
        )
        loss = tf.reduce_sum(theirs * scale)
    expected = tape.gradient(loss, [x64, kernel, bias])
    assert_close(nll, theirs)
    for ours, wanted in zip((d_x, d_kernel, d_bias), expected, strict=True):
        ours, wanted = tf.convert_to_tensor(ours), tf.convert_to_tensor(wanted)
        assert_close(ours, wanted)


def test_the_sparse_gradient_names_each_row_once():
    layer = make(num_sampled=SAMPLED)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(FEATURES, TARGETS, training=True))
    for gradient in tape.gradient(loss, [layer.kernel.value, layer.bias.value]):
        assert isinstance(gradient, tf.IndexedSlices)
        indices = gradient.indices.numpy()
        assert len(set(indices)) == len(indices) < SIZE
        assert set(TARGETS.ravel()) <= set(indices)


@pytest.mark.slow
def test_the_sample_is_an_estimate_of_the_whole():
    """The mean sampled loss over many draws is slightly below the full loss."""
    layer = make(num_sampled=25)
    layer.kernel.assign(0.1 * layer.kernel)
    full = float(tf.reduce_mean(layer(FEATURES, TARGETS)))
    means = [float(tf.reduce_mean(layer(FEATURES, TARGETS, training=True))) for _ in range(50)]
    assert np.mean(means) == pytest.approx(full, rel=0.1)


def test_evaluation_draws_nothing():
    layer = make(num_sampled=SAMPLED)
    layer(FEATURES, TARGETS)
    assert int(layer.draws) == 0


def test_tied_takes_its_kernel_from_the_call():
    ours, tied = make(num_sampled=SAMPLED), make(num_sampled=SAMPLED, tie_embeddings=True)
    kernel = tf.constant(np.asarray(ours.kernel))
    assert [weight.name for weight in tied.trainable_weights] == ["bias"]
    for training in (False, True):
        assert_close(
            tied(FEATURES, TARGETS, kernel=kernel, training=training),
            ours(FEATURES, TARGETS, training=training),
        )


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16"])
def test_low_precision_is_close(dtype):
    exact, rough = make(num_sampled=SAMPLED), make(dtype, num_sampled=SAMPLED)
    for training in (False, True):
        nll = rough(FEATURES, TARGETS, training=training)
        assert nll.dtype == tf.float32
        assert_close(nll, exact(FEATURES, TARGETS, training=training), terms=1, unit=BFLOAT16)


def test_extreme_logits_stay_finite():
    layer = make(num_sampled=SAMPLED)
    features = tf.constant(1e3 * FEATURES)
    for training in (False, True):
        with tf.GradientTape() as tape:
            nll = layer(features, TARGETS, training=training)
        gradients = tape.gradient(nll, [layer.kernel.value, layer.bias.value])
        assert np.isfinite(nll).all()
        assert all(np.isfinite(tf.convert_to_tensor(g)).all() for g in gradients)


def test_too_many_negatives():
    with pytest.raises(ValueError, match="smaller than the vocabulary; got 30 for a vocabulary"):
        SampledSoftmax(SIZE, num_sampled=30)


def test_an_unknown_number_of_groups():
    run = tf.function(lambda x, y: make(num_sampled=SAMPLED)(x, y, training=True))
    shapes = tf.TensorSpec([None, None, DIM]), tf.TensorSpec([None, None], "int32")
    with pytest.raises(ValueError, match=r"`inputs` must have a known number of groups"):
        run.get_concrete_function(*shapes)
