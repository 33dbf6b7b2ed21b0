"""The bound of a comparison of floats, its message, and the record of the tightest comparisons."""

import pathlib

import numpy as np
import pytest

from tests import closeness
from tests.closeness import FLOAT32, assert_close


@pytest.fixture(autouse=True)
def without_a_record(monkeypatch):
    monkeypatch.delenv(closeness.RECORD, raising=False)


def test_the_bound_is_in_units_of_rounding():
    bound = 4 * 2.0**-23 * 5 * 8  # for 64 terms and the largest value, 5
    for inside, outside in (0.99, 1.01), (-0.99, -1.01):
        assert_close([1.0, 5.0 + inside * bound], [1.0, 5.0])
        with pytest.raises(
            AssertionError, match=r"value at \(1,\) must be 5 within 1\.91e-05; got"
        ):
            assert_close([1.0, 5.0 + outside * bound], [1.0, 5.0])
    assert_close([5.0 + 0.9 * bound / 8], [5.0], terms=1)
    assert_close([5.0 + 9 * bound], [5.0], magnitude=50.0)
    with pytest.raises(AssertionError, match="within 4.77e-07; got 1.00000052, 5.25e-07 away"):
        assert_close(1.0 + 1.1 * 4 * FLOAT32, 1.0, terms=1)
    with pytest.raises(AssertionError, match="must be 0 within 0; got 0.1, 0.1 away"):
        assert_close(0.1, 0.0)


def test_what_is_not_finite_must_be_equal():
    assert_close([np.inf, -np.inf, np.nan, 1.0], [np.inf, -np.inf, np.nan, 1.0])
    for wrong in [np.inf, 1.0], [np.nan, 1.0], [1e30, 1.0]:
        with pytest.raises(AssertionError, match=r"at \(0,\) must be -inf"):
            assert_close(wrong, [-np.inf, 1.0])
    with pytest.raises(AssertionError, match="got nan"):
        assert_close([1.0, np.nan], [1.0, 1.0])


def test_shapes_and_keys_must_be_equal():
    assert_close(np.ones([2, 3]), 1.0)
    assert_close({"a": [1.0], "b": 2}, {"b": 2.0, "a": [1.0]})
    for actual, expected in ([1.0], [1.0, 1.0]), ([[1.0, 1.0]], [1.0, 1.0]), ({}, {"a": 1.0}):
        with pytest.raises(AssertionError):
            assert_close(actual, expected)


def test_the_tightest_comparisons_are_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(closeness.RECORD, str(tmp_path / "record"))
    for share in 0.1, 0.2:
        assert_close(1.0 + share * 4 * FLOAT32, 1.0, terms=1)
    assert closeness.main(tmp_path / "record") == 0
    title, row = capsys.readouterr().out.splitlines()
    assert "each of 1 comparisons" in title
    assert row.startswith("0.200  ") and row.endswith("printed") and "test_closeness.py:" in row
    assert_close(1.0 + 0.3 * 4 * FLOAT32, 1.0, terms=1)
    assert closeness.main(tmp_path / "record") == 1


def test_there_is_one_way_to_compare_floats():
    for path in pathlib.Path(__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert path.name == "test_closeness.py" or "assert_allclose" not in text, path
