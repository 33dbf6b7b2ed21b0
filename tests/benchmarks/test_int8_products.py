import os

import keras
import numpy as np
import pytest
import tensorflow as tf

from benchmarks.int8_products import int8_product, int8_stack
from tests.closeness import assert_close
from tfreps.layers import ElmoLSTM


@pytest.fixture(autouse=True)
def kernel():
    if os.environ.get("TF_ENABLE_ONEDNN_OPTS") == "0":
        pytest.skip("int8 products need oneDNN; without it, they have no elements")
    try:
        int8_product(tf.ones([1, 2]), np.ones([2, 3], "float32"))
    except tf.errors.OpError as error:
        if "kernel" not in str(error):
            raise
        pytest.skip("this TensorFlow has no int8 products of oneDNN")


def test_product_of_the_rounded_numbers():
    rng = np.random.default_rng(0)
    x = rng.normal(size=[5, 16]).astype("float32")
    kernel = rng.normal(size=[16, 24]).astype("float32")
    scale, kernel_scale = np.abs(x).max() / np.float32(63), np.abs(kernel).max() / np.float32(127)
    expected = np.round(x / scale) @ np.round(kernel / kernel_scale) * scale * kernel_scale
    assert_close(int8_product(tf.constant(x), kernel), expected)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_large_sums_do_not_overflow(sign):
    """Without VNNI, a CPU limits sums of two products to 16 bits."""
    y = int8_product(tf.fill([5, 512], sign), np.ones([512, 24], "float32"))
    assert_close(y, np.full([5, 24], sign * 512))


def test_layers_are_close_to_float32():
    keras.utils.set_random_seed(1)
    lstm = ElmoLSTM(units=32, projection_dim=8, num_layers=2)
    x = tf.random.normal([3, 7, 8], seed=1)
    expected = lstm(x)[0][:, -1]
    y = int8_stack(lstm)(x)
    distance = tf.norm(y - expected) / tf.norm(expected)
    assert 1e-4 < distance < 0.05  # 8 bits: not equal, but close
