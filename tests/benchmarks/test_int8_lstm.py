import keras
import numpy as np
import pytest
import tensorflow as tf

from benchmarks import int8_lstm
from tfreps.layers import ElmoLSTM
from tfreps.models.sizes import ELMO


@pytest.fixture(autouse=True)
def kernel():
    try:
        int8_lstm.int8_product(tf.ones([1, 2]), np.ones([2, 3], "float32"))
    except (tf.errors.NotFoundError, tf.errors.InvalidArgumentError, tf.errors.UnimplementedError):
        pytest.skip("this TensorFlow has no int8 products of oneDNN")


def test_product_of_the_rounded_numbers():
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=[5, 16]), rng.normal(size=[16, 24])
    x_scale, kernel_scale = np.abs(x).max() / 127, np.abs(kernel).max() / 127
    expected = np.round(x / x_scale) @ np.round(kernel / kernel_scale) * x_scale * kernel_scale
    y = int8_lstm.int8_product(tf.constant(x, "float32"), kernel.astype("float32"))
    # A float32 number of about 0.5 rounds differently in float64 at most rarely.
    np.testing.assert_allclose(y, expected, rtol=0, atol=2 * x_scale * np.abs(kernel).max())
    assert np.median(np.abs(y - expected)) < 1e-5


def test_layers_are_close_to_float32():
    keras.utils.set_random_seed(1)
    lstm = ElmoLSTM(units=32, projection_dim=8, num_layers=2)
    x = tf.random.normal([3, 7, 8], seed=1)
    expected = lstm(x)[0][:, -1]
    y = int8_lstm.int8_stack(lstm)(x)
    distance = tf.norm(y - expected) / tf.norm(expected)
    assert 1e-4 < distance < 0.05  # 8 bits: not equal, but close


def test_prints_a_row_for_each_kind(monkeypatch, capsys):
    sizes = {"filters": [[1, 8], [2, 8]], "num_highways": 1, "units": 16, "projection_dim": 4}
    monkeypatch.setitem(ELMO, "elmo_original", sizes)
    assert int8_lstm.main(["--rows", "2", "--length", "5", "--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 layers, 16 units, projection 4"
    rows = [line.split(" | ") for line in lines if line.startswith("| ")][1:]
    assert [row[0] for row in rows] == ["| float32", "| bfloat16", "| int8"]
    assert rows[0][2:] == ["1.00", "0.0e+00 |"]
    assert all(0 < float(row[3].rstrip(" |")) < 0.1 for row in rows[1:])
