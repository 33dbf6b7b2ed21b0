import tensorflow as tf

from benchmarks import int8_lstm, int8_products
from tfreps.models.sizes import ELMO


def test_prints_a_row_for_each_kind(monkeypatch, capsys):
    def product(x, kernel):  # also on machines without int8 products
        return tf.cast(tf.cast(x, "bfloat16"), "float32") @ kernel

    monkeypatch.setattr(int8_products, "int8_product", product)
    sizes = {"filters": [[1, 8], [2, 8]], "num_highways": 1, "units": 16, "projection_dim": 4}
    monkeypatch.setitem(ELMO, "elmo_original", sizes)
    assert int8_lstm.main(["--rows", "2", "--length", "5", "--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "2 layers, 16 units, projection 4"
    rows = [line.split(" | ") for line in lines if line.startswith("| ")][1:]
    assert [row[0] for row in rows] == ["| float32", "| bfloat16", "| int8"]
    assert rows[0][2:] == ["1.00", "0.0e+00 |"]
    assert all(0 < float(row[3].rstrip(" |")) < 0.1 for row in rows[1:])
