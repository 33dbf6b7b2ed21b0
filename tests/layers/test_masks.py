"""Masks of other shapes than [B, T] are refused by every layer that takes one, never stretched."""

import numpy as np
import pytest
import tensorflow as tf

from tfreps.layers import Pooling, PositionEmbedding, SelfAttention, TransformerBlock
from tfreps.layers.masks import as_mask

X = tf.ones([2, 5, 8])
LAYERS = {
    "attention": lambda: SelfAttention(num_heads=2),
    "block": lambda: TransformerBlock(num_heads=2),
    "positions": lambda: PositionEmbedding("learned", max_positions=9),
    "mean": lambda: Pooling("mean"),
    "max": lambda: Pooling("max"),
    "pooled by attention": lambda: Pooling("attention"),
}


@pytest.mark.parametrize("shape", [[5], [2, 5, 5], [2, 4], [2, 1], [1, 5], [2, 1, 5]], ids=str)
@pytest.mark.parametrize("name", LAYERS)
def test_other_shapes(name, shape):
    layer = LAYERS[name]()
    with pytest.raises(ValueError, match="`mask` must have the shape .* of its tokens"):
        layer(X, mask=np.ones(shape, bool))


def test_bool_numbers_and_none():
    assert as_mask(None, X) is None
    given = np.array([[1, 1, 0, 0, 0], [1, 0, 0, 0, 2]])
    for kind in "bool", "int32", "float32":
        np.testing.assert_array_equal(as_mask(given.astype(kind), X), given != 0)


def test_lengths_that_are_not_known():
    run = tf.function(as_mask, input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec(None)])
    np.testing.assert_array_equal(run(np.ones([2, 5], "float32"), X), np.ones([2, 5], bool))
