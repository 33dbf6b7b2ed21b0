"""SegmentEmbedding with any number of segments, and ids out of range."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.layers import SegmentEmbedding

IDS = np.array([[0, 0, 2, 1], [2, 2, 2, 0]], "int32")


def make(num_segments=3, **options):
    layer = SegmentEmbedding(num_segments, **{"units": 4, **options})
    layer.build((None, None))
    return layer


@pytest.mark.parametrize("num_segments", [1, 3, 256])
def test_looks_up_rows(num_segments):
    layer, ids = make(num_segments), np.minimum(IDS, num_segments - 1)
    np.testing.assert_array_equal(layer(ids), np.asarray(layer.table)[ids])


def test_the_gradient_is_dense_and_counts_every_use():
    layer = make()
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(layer(IDS))
    gradient = tape.gradient(y, layer.table.value)
    assert isinstance(gradient, tf.Tensor)
    np.testing.assert_array_equal(gradient[:, 0], [3, 1, 4])


def test_rows_of_aespressos_are_orthogonal_and_of_length_one():
    table = np.asarray(make(embeddings_initializer="orthogonal_rows").table)
    assert_close(table @ table.T, np.eye(3))


@pytest.mark.parametrize("wrong", [-1, 3])
def test_ids_out_of_range(wrong):
    with pytest.raises(tf.errors.InvalidArgumentError, match="segment ids must lie in 0..2"):
        make()(np.array([[0, wrong]]))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"embeddings_initializer": "swoosh"}, "swoosh"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
