import numpy as np
import tensorflow as tf

from benchmarks import gemm, wide_products
from tests.closeness import assert_close


def test_all_forms_compute_the_product(monkeypatch):
    rng = np.random.default_rng(0)
    x, kernel = rng.normal(size=[3, 5]), rng.normal(size=[5, 32])
    expected = x @ kernel
    results = []

    def call_once(function, *arguments):
        results.append(function(*arguments))

    monkeypatch.setattr(wide_products, "timed", call_once)
    for name, make in wide_products.make_forms().items():
        make(tf.constant(x, "float32"), tf.constant(kernel, "float32"))
        y = results.pop()
        y = tf.concat(y, 1) if isinstance(y, list) else tf.reshape(y, y.shape[-2:])
        if "transposed" in name:
            y = tf.transpose(y)
        if "bias" in name:
            y = y - np.pad(kernel[0], [0, wide_products.ZEROS]).astype("float32")
        assert_close(y[:, :32], expected, name=name)
        assert not np.any(y[:, 32:])


def test_prints_a_line_for_each_form(monkeypatch, capsys):
    monkeypatch.setattr(wide_products, "INNER", 8)
    monkeypatch.setattr(wide_products, "COLUMNS", 64)
    monkeypatch.setattr(gemm, "gemm", lambda: 100.0)
    assert wide_products.main(["--rows", "4", "--repeats", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("4 rows: read ") and "multiply" in lines[0]
    names = [line.split(" | ")[0].strip("| ") for line in lines[4:]]
    assert names == list(wide_products.make_forms())
