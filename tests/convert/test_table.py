"""The strict table uses each array once and fills each weight once, or raises an error."""

import numpy as np
import pytest

from tfreps._src.convert.table import Row, check_arrays, read_rows, written_rows

ROWS = [
    Row("theirs/a", (2, 3), "ours/a", np.transpose, np.transpose),
    Row("theirs/b", (2,), "ours/b"),
]
SHAPES = {"theirs/a": (2, 3), "theirs/b": (2,)}


class Weight:
    """A stub with the attributes of a weight that the table needs."""

    dtype = "float32"

    def __init__(self, *shape):
        self.value, self.shape = np.zeros(shape, "float32"), shape

    def assign(self, value):
        self.value = value

    def __array__(self, dtype=None, copy=None):
        return self.value


def weights():
    return {"ours/a": Weight(3, 2), "ours/b": Weight(2)}


def arrays():
    return {
        "theirs/a": np.arange(6, dtype="float64").reshape(2, 3),
        "theirs/b": np.array([7.0, 8.0], "float16"),
    }


def test_reads_and_writes_back():
    ours = weights()
    check_arrays(ROWS, SHAPES, "file")
    read_rows(ROWS, arrays().__getitem__, ours, "file")
    np.testing.assert_array_equal(ours["ours/a"].value, [[0, 3], [1, 4], [2, 5]])
    written = {name: make() for name, make in written_rows(ROWS, ours).items()}
    assert written.keys() == arrays().keys()
    for name, array in arrays().items():
        np.testing.assert_array_equal(written[name], array)
        assert written[name].dtype == np.float32


def test_arrays_stand_side_by_side_in_one_weight():
    rows = [
        Row("theirs/b", (2, 1), "ours/a", np.transpose, np.transpose, part=(1, 2)),
        Row("theirs/a", (2, 1), "ours/a", np.transpose, np.transpose, part=(0, 2)),
    ]
    given = {"theirs/a": np.array([[1.0], [2.0]]), "theirs/b": np.array([[3.0], [4.0]])}
    ours = {"ours/a": Weight(1, 4)}
    read_rows(rows, given.__getitem__, ours, "file")
    np.testing.assert_array_equal(ours["ours/a"].value, [[1, 2, 3, 4]])
    for name, make in written_rows(rows, ours).items():
        np.testing.assert_array_equal(make(), given[name])
    with pytest.raises(ValueError, match="each part of weight ours/a exactly once"):
        read_rows(rows[:1], given.__getitem__, ours, "file")


def test_both_lists_of_leftovers_are_told():
    shapes = {"theirs/a": (2, 3), "strange/c": (1,), "strange/d": (1,)}
    with pytest.raises(ValueError) as error:
        check_arrays(ROWS, shapes, "some.hdf5")
    message = str(error.value)
    assert message.startswith("The arrays in some.hdf5 are not those that")
    assert "missing: theirs/b\n" in message and "not used: strange/c, strange/d\n" in message


def test_what_is_ignored_may_be_there_or_not():
    ignored = ["strange/c"]
    check_arrays(ROWS, SHAPES, "file", ignored)
    check_arrays(ROWS, {**SHAPES, "strange/c": (9,)}, "file", ignored)
    with pytest.raises(ValueError, match="not used: strange/d"):
        check_arrays(ROWS, {**SHAPES, "strange/d": (9,)}, "file", ignored)


def test_every_wrong_shape_is_told():
    with pytest.raises(ValueError) as error:
        check_arrays(ROWS, {"theirs/a": (3, 2), "theirs/b": (2, 1)}, "some.hdf5")
    assert "theirs/a: expected (2, 3), got (3, 2)" in str(error.value)
    assert "theirs/b: expected (2,), got (2, 1)" in str(error.value)


@pytest.mark.parametrize(
    "ours, message",
    [
        ({"ours/a": Weight(3, 2)}, "rows without a weight: ours/b"),
        ({**weights(), "ours/c": Weight(1)}, "weights without a row: ours/c"),
        ({"ours/a": Weight(2, 3), "ours/b": Weight(2)}, "theirs/a .*ours/a has shape \\(2, 3\\)"),
    ],
)
def test_a_table_that_does_not_fit_the_model(ours, message):
    with pytest.raises(ValueError, match=message):
        read_rows(ROWS, arrays().__getitem__, ours, "some.hdf5")


def test_a_weight_may_not_be_filled_twice():
    twice = [*ROWS, Row("theirs/c", (2,), "ours/b")]
    with pytest.raises(ValueError, match="each part of weight ours/b exactly once"):
        read_rows(twice, arrays().__getitem__, weights(), "some.hdf5")


@pytest.mark.parametrize(
    "array, message",
    [
        (np.array([1.0, np.nan]), "1 of the 2 values of array theirs/b are not finite"),
        (np.array([np.inf, -np.inf]), "2 of the 2 values of array theirs/b are not finite"),
        (
            np.array([1e300, 1.0]),
            "1 of the 2 values of array theirs/b are not finite",
        ),  # overflows float32
        (np.array([1, 2]), "array theirs/b must contain floats; got int64"),
        (np.array([b"x", b"y"]), "array theirs/b must contain floats; got \\|S1"),
    ],
)
def test_values_that_are_no_numbers(array, message):
    given = {**arrays(), "theirs/b": array}
    with pytest.raises(ValueError, match=f"some.hdf5: {message}"):
        read_rows(ROWS, given.__getitem__, weights(), "some.hdf5")


def test_writing_a_weight_that_the_format_lacks():
    with pytest.raises(ValueError, match="cannot store the weights ours/c"):
        written_rows(ROWS, {**weights(), "ours/c": Weight(1)})
