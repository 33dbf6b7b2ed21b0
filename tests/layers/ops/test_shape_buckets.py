"""Padding to shared batch sizes, and its removal."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps.layers.ops.shape_buckets import LARGEST, ROWS, TOKENS, in_buckets, rounded


def test_there_are_few_sizes_and_little_padding():
    assert ROWS[:9] == [1, 2, 3, 4, 6, 8, 12, 16, 24]
    assert TOKENS[:43] == [*range(4, 16), *range(16, 129, 4), 136, 144]
    for sizes, most in ((ROWS, 1.5), (TOKENS, 1.25)):
        assert sizes == sorted(set(sizes)) and sizes[-1] == LARGEST
        wide = [size for size in sizes if size >= 16]
        assert all(b / a <= most for a, b in zip(wide, wide[1:], strict=False))


@pytest.mark.parametrize("sizes", [ROWS, TOKENS], ids=["rows", "tokens"])
def test_a_tensor_is_rounded_like_an_int(sizes):
    for size in (0, 1, 4, 5, 12, 13, 100, LARGEST - 1, LARGEST, LARGEST + 1):
        got = rounded(size, sizes)
        assert got == rounded(tf.constant(size), sizes).numpy() and got >= size
        assert got in sizes or got == size
        assert rounded(got, sizes) == got


def run_and_note(seen):
    def run(x, mask, weights, table, factor=1.0):
        seen.append((x.shape.as_list(), mask.shape.as_list(), weights.shape.as_list()))
        masked = tf.where(mask[..., None], x * factor, 7.0)  # [B, T, K]
        return tf.reduce_sum(weights), (masked, tf.reduce_sum(x, [1, 2]) * weights, table)

    return run


AXES = "", "BTK", "B", "KK"


def arguments(rows, length):
    rng = np.random.default_rng(0)
    x = tf.constant(rng.normal(size=[rows, length, 2]), "float32")
    batch = x, tf.constant(rng.random([rows, length]) < 0.5), tf.ones([rows])
    return batch, [tf.eye(2)]


@pytest.mark.parametrize("shape", [(5, 17), (8, 17), (5, 16), (8, 16), (0, 3), (3, 0)])
def test_eager_calls_are_not_padded(shape):
    batch, others = arguments(*shape)
    expected = tf.nest.flatten(run_and_note([])(*batch, *others, factor=2.0))
    seen = []
    got = in_buckets(run_and_note(seen), batch, others, AXES, factor=2.0)
    for a, b in zip(tf.nest.flatten(got), expected, strict=True):
        assert a.shape == b.shape
        assert_close(a, b)
    rows, length = shape
    assert seen == [([rows, length, 2], [rows, length], [rows])]


@pytest.mark.parametrize("known", [(None, None), (5, None), (None, 17), (5, 17)])
def test_graphs_pad_only_sizes_that_are_unknown(known):
    batch, others = arguments(5, 17)
    expected = tf.nest.flatten(run_and_note([])(*batch, *others))
    specs = [tf.TensorSpec(known[: x.shape.rank], x.dtype) for x in batch[1:]]
    specs = [tf.TensorSpec([*known, 2]), *specs]
    seen = []
    call = tf.function(lambda *b: in_buckets(run_and_note(seen), b, others, AXES), specs)
    for a, b in zip(tf.nest.flatten(call(*batch)), expected, strict=True):
        assert a.shape == b.shape
        assert_close(a, b)
    assert seen[0][0][:2] == list(known)


def test_the_gradient_passes_through_the_padding():
    x = tf.constant(np.arange(5.0 * 17).reshape(5, 17), "float32")
    square = tf.function(
        lambda x: in_buckets(lambda x: x * x, [x], [], ("BT",)), [tf.TensorSpec([None, None])]
    )
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = square(x)
    np.testing.assert_array_equal(tape.gradient(y, x), 2.0 * x)
