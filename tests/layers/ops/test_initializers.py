"""OrthogonalRows: norms, angles and seeds; and initializers by name."""

import keras
import numpy as np
import pytest

from tests.closeness import assert_close
from tfreps._src.layers.ops.initializers import OrthogonalRows, new_initializer


@pytest.mark.parametrize("shape", [(3, 5), (5, 5), (40, 5), (1, 1)])
def test_rows_have_length_one_and_few_are_orthogonal(shape):
    table = OrthogonalRows(seed=1)(shape).numpy()
    assert_close(np.linalg.norm(table, axis=1), 1.0)
    if shape[0] <= shape[1]:
        assert_close(table @ table.T, np.eye(shape[0]))


def test_many_rows_are_those_of_an_orthogonal_matrix_made_longer():
    matrix = keras.initializers.Orthogonal(seed=1)((40, 5)).numpy()
    assert_close(matrix.T @ matrix, np.eye(5))
    expected = [row / np.sqrt(sum(row**2)) for row in matrix]
    assert_close(OrthogonalRows(seed=1)((40, 5)), expected)


def test_comes_back_from_its_config_and_keeps_to_its_seed():
    initializer = OrthogonalRows(seed=3)
    copy = keras.initializers.deserialize(keras.initializers.serialize(initializer))
    assert isinstance(copy, OrthogonalRows) and copy.seed == 3
    np.testing.assert_array_equal(initializer((4, 3)), copy((4, 3)))
    assert (OrthogonalRows()((4, 3)) != OrthogonalRows()((4, 3))).numpy().any()
    assert initializer((4, 3), dtype="float16").dtype == "float16"


def test_new_initializers():
    assert isinstance(new_initializer("orthogonal_rows"), OrthogonalRows)
    normal = new_initializer(None)([1000, 10]).numpy()
    assert np.abs(normal).max() <= 0.04 and normal.std() == pytest.approx(0.0176, rel=0.05)
    assert not new_initializer("zeros")([2, 3]).numpy().any()
    uniform = keras.initializers.RandomUniform(2.0, 3.0)
    one, other = (new_initializer(uniform)([4, 3]).numpy() for _ in range(2))
    assert one.min() >= 2.0 and (one != other).any()  # each weight gets different values
    with pytest.raises(ValueError, match="zeros and ones"):
        new_initializer("zeros and ones")
