"""Matrix multiplications in low precision with float32 results."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import BFLOAT16, FLOAT16, FLOAT32, assert_close
from tfreps._src.layers.ops.matmul import dense_of_tokens, matmul, widened

X = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
KERNEL = np.random.default_rng(1).normal(size=(4, 5)).astype("float32")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_is_the_product_of_the_rounded_factors(dtype):
    rounded = [tf.cast(tf.cast(a, dtype), "float64").numpy() for a in (X, KERNEL)]
    y = matmul(X, KERNEL, dtype)
    assert y.dtype == tf.float32
    # The result is also rounded to the compute precision.
    unit = {"float32": FLOAT32, "bfloat16": BFLOAT16, "float16": FLOAT16}[dtype]
    assert_close(y, rounded[0] @ rounded[1], terms=4, unit=unit)


def test_multiplies_with_the_transpose():
    expected = X[0] @ KERNEL
    assert_close(matmul(X[0], KERNEL.T, "float32", True), expected)


def test_extra_columns_change_no_other_column():
    kernel = np.random.default_rng(2).normal(size=(4, 1024)).astype("float32")
    wide = widened(tf.constant(kernel))
    assert wide.shape == (4, 1056)
    np.testing.assert_array_equal(wide, np.pad(kernel, [[0, 0], [0, 32]]))
    assert_close(matmul(X[0], wide, "float32")[:, :1024], X[0] @ kernel)


@pytest.mark.parametrize("columns, dtype", [(1000, "float32"), (1024, "bfloat16"), (0, "float16")])
def test_other_matrices_get_no_extra_columns(columns, dtype):
    assert widened(tf.zeros([3, columns], dtype)).shape == (3, columns)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_a_dense_layer_sees_one_matrix(policy):
    dense = keras.layers.Dense(5, dtype=policy)
    dense.build((None, 4))
    dense.set_weights([KERNEL, np.arange(5)])
    y = dense_of_tokens(dense, tf.constant(X))
    assert y.dtype == dense.compute_dtype and y.shape == (2, 3, 5)
    unit = FLOAT32 if policy == "float32" else BFLOAT16
    assert_close(y, X @ KERNEL + np.arange(5), terms=4, unit=unit)
    spec = tf.TensorSpec([None, None, 4])
    unknown = tf.function(lambda x: dense_of_tokens(dense, x), input_signature=[spec])
    assert unknown(X[:, :0]).shape == (2, 0, 5)
    assert unknown.get_concrete_function().output_shapes.as_list() == [None, None, 5]
