"""ScalarMix against plain loops: layer norm, L2, fixed weights and top layer only."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from docs.by_hand.elmo import scalar_mix
from tests import oracles
from tests.closeness import assert_close
from tfreps.layers import ScalarMix

LENGTHS = 4, 2, 0
X = np.random.default_rng(0).normal(size=(3, 3, 4, 5)).astype("float32")  # [B, L, T, D]
MASK = np.arange(4) < np.array(LENGTHS)[:, None]


def mix_with(weights, gamma, **options):
    layer = ScalarMix(**options)
    layer.build(X.shape)
    if weights is not None:
        layer.scalar_weights.assign(weights)
    layer.gamma.assign(gamma)
    return layer


def test_equals_the_loops():
    y = mix_with([0.3, -1.0, 2.0], 0.7)(X, mask=MASK)
    for row, layers in zip(y, X, strict=True):
        expected = scalar_mix(layers.astype(float), [0.3, -1.0, 2.0], 0.7)
        assert_close(row, expected)


def test_starts_as_the_plain_average():
    assert_close(ScalarMix()(X), X.mean(axis=1))


@pytest.mark.parametrize("epsilon", [1e-12, 1e-1])
def test_normalizes_over_all_real_positions_of_the_batch(epsilon):
    y = mix_with([0.3, -1.0, 2.0], 0.7, layer_norm=True, layer_norm_epsilon=epsilon)(X, mask=MASK)
    real = [layers[:, :n].astype(float) for layers, n in zip(X, LENGTHS, strict=True)]
    for row, layers, n in zip(y, oracles.normalized(real, epsilon), LENGTHS, strict=True):
        expected = scalar_mix(layers, [0.3, -1.0, 2.0], 0.7)
        assert_close(row[:n], expected)


def test_normalizes_over_everything_without_a_mask():
    y = mix_with([0.3, -1.0, 2.0], 0.7, layer_norm=True)(X)
    for row, layers in zip(y, oracles.normalized(list(X), 1e-12), strict=True):
        expected = scalar_mix(layers, [0.3, -1.0, 2.0], 0.7)
        assert_close(row, expected)


def test_padding_does_not_reach_the_statistics():
    layer, other = mix_with([0.3, -1.0, 2.0], 1.0, layer_norm=True), X.copy()
    other.transpose(0, 2, 1, 3)[~MASK] = 1e6
    np.testing.assert_array_equal(layer(X, mask=MASK)[MASK], layer(other, mask=MASK)[MASK])


def test_a_batch_without_tokens_gives_finite_numbers_and_gradients():
    layer, nothing = mix_with([0.3, -1.0, 2.0], 1.0, layer_norm=True), np.zeros_like(MASK)
    with tf.GradientTape() as tape:
        y = tf.where(nothing[..., None], layer(X, mask=nothing), 0.0)
    gradients = tape.gradient(y, [weight.value for weight in layer.weights])
    assert all((np.asarray(gradient) == 0.0).all() for gradient in gradients)


def test_the_top_alone_has_one_weight():
    layer = mix_with(None, 0.5, top_only=True)
    assert_close(layer(X), 0.5 * X[:, -1])
    assert [weight.name for weight in layer.weights] == ["gamma"]
    normed = mix_with(None, 0.5, top_only=True, layer_norm=True)(X, mask=MASK)
    real = [layers[-1:, :n].astype(float) for layers, n in zip(X, LENGTHS, strict=True)]
    assert_close(normed[0], 0.5 * oracles.normalized(real, 1e-12)[0][0])


def test_fixed_weights_can_select_a_layer():
    layer = ScalarMix(initial_weights=[-9e10, 1.0, -9e10], trainable=False)
    np.testing.assert_array_equal(layer(X), X[:, 1])
    assert layer.trainable_weights == []


def test_l2_is_on_the_raw_weights_and_not_on_gamma():
    layer = mix_with([0.5, -2.0, 1.0], 7.0, l2=0.1)
    assert len(layer.losses) == 1
    assert_close(float(keras.ops.sum(layer.losses)), 0.1 * (0.25 + 4.0 + 1.0))
    assert mix_with([0.5, -2.0, 1.0], 7.0).losses == []


def test_wrong_number_of_weights():
    with pytest.raises(
        ValueError, match="one value for each of the 3 layers of the input.* 2 values"
    ):
        ScalarMix(initial_weights=[0.0, 1.0])(X)
