"""Parts of one S-LSTM step: bounds of the gates, neighbours and their gradient."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.layers.ops import slstm_update
from tfreps.layers.ops.slstm_update import Form, Terms, from_neighbours, neighbours

GROUPS = ((-2, -1), (0,), (1, 2))


def paper_form(units=3, **changes):
    apart = (-1,), (0,), (1,)
    form = Form(units, apart, apart, 1, "gate", "softmax_of_sigmoids", "joint", "cell")
    return form._replace(**changes)


def random_terms(form, scale=1.0, length=4, batch=2, seed=0):
    rng, units, nodes = np.random.default_rng(seed), form.units, form.num_sentence_nodes

    def normal(*shape):
        return tf.constant(rng.normal(size=shape) * scale, "float32")

    return Terms(
        *(normal(form.num_gates, batch, steps, units) for steps in (length, length, 1)),
        normal(batch, length, nodes * units), normal(nodes, batch, 3 * units),
        *(normal(batch, length, units) for _ in range(2)),
        *(normal(nodes, batch, units) for _ in range(2)),
        tf.zeros([0]), *[tf.ones([batch, length, 1])] * 2,
    )  # fmt: skip


def test_neighbours_are_sums_at_offsets():
    x = tf.constant([[[1.0], [10.0], [100.0], [1000.0]]])
    left, own, right = (part.numpy()[0, :, 0] for part in neighbours(x, GROUPS))
    np.testing.assert_array_equal(left, [0, 1, 11, 110])
    np.testing.assert_array_equal(own, [1, 10, 100, 1000])
    np.testing.assert_array_equal(right, [110, 1100, 1000, 0])


@pytest.mark.parametrize("length", [0, 1, 5])
def test_from_neighbours_is_the_gradient_of_neighbours(length):
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=[2, length, 3]), "float32")
    d = [tf.constant(rng.normal(size=[2, length, 3]), "float32") for _ in GROUPS]
    with tf.GradientTape() as tape:
        tape.watch(x)
        parts = neighbours(x, GROUPS)
    expected = tape.gradient(parts, x, output_gradients=d)
    assert_close(from_neighbours(d, GROUPS), expected)


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0, 1000.0])
def test_a_softmax_of_five_sigmoids_keeps_to_its_bounds(scale):
    form = paper_form()
    words = slstm_update._word_gates(form, random_terms(form, scale))
    gates = np.array(words.parts * words.scale)
    least, most = 1 / (1 + 4 * np.e), np.e / (np.e + 4)
    assert (round(least, 3), round(most, 3)) == (0.084, 0.405)
    assert gates.min() >= least - 1e-6 and gates.max() <= most + 1e-6
    assert_close(gates.sum(axis=0), 1.0)


def test_weights_of_a_sentence_node_sum_to_one_over_words_and_itself():
    for kind in ("softmax_of_sigmoids", "softmax"):
        form = paper_form(gate_normalization=kind)
        node = slstm_update._node_gates(form, random_terms(form), 0)
        of_words = tf.reduce_sum(node.parts, axis=1) / node.total
        assert_close(of_words + node.own, 1.0)


@pytest.mark.parametrize("joint", ["joint", "words"])
@pytest.mark.parametrize("counted", [0.0, 1.0])
def test_large_logits_overflow_nothing(joint, counted):
    form = paper_form(gate_normalization="softmax", sentence_normalization=joint)
    terms = random_terms(form, scale=1e4)._replace(counted=tf.fill([2, 4, 1], counted))
    results, gates = slstm_update.update(form, terms)
    gradients = slstm_update.update_gradient(form, terms, gates, *results)
    for value in [*results, *gradients]:
        assert np.isfinite(value).all()
