"""Products in low precision with float32 results."""

import numpy as np
import pytest
import tensorflow as tf

from tfreps.layers.products import product

X = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
KERNEL = np.random.default_rng(1).normal(size=(4, 5)).astype("float32")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_is_the_product_of_the_rounded_factors(dtype):
    rounded = [tf.cast(tf.cast(a, dtype), "float64").numpy() for a in (X, KERNEL)]
    y = product(X, KERNEL, dtype)
    assert y.dtype == tf.float32
    # The result is rounded to the compute precision once more.
    tolerance = {"float32": 1e-6, "bfloat16": 2.0**-8, "float16": 2.0**-10}[dtype]
    np.testing.assert_allclose(y, rounded[0] @ rounded[1], rtol=tolerance, atol=tolerance)


def test_multiplies_with_the_transpose():
    expected = X[0] @ KERNEL
    np.testing.assert_allclose(product(X[0], KERNEL.T, "float32", True), expected, rtol=1e-6)
