import numpy as np
import pytest

from tfreps.layers.crf_constraints import checked_transitions, constrained


def test_the_shape_and_the_dtype_are_checked():
    with pytest.raises(ValueError, match=r"\[4, 4\].*got bool of shape \[3, 3\]"):
        checked_transitions(np.ones([3, 3], bool), 2)
    with pytest.raises(ValueError, match="got int64"):
        checked_transitions(np.ones([4, 4], "int64"), 2)


@pytest.mark.parametrize("cut", ["start", "end", "between"])
def test_some_sequence_must_be_legal(cut):
    allowed = np.zeros([4, 4], bool)
    allowed[2, 0] = allowed[0, 1] = allowed[1, 3] = True
    assert checked_transitions(allowed, 2) == allowed.tolist()
    allowed[{"start": (2, 0), "end": (1, 3), "between": (0, 1)}[cut]] = False
    with pytest.raises(ValueError, match="no legal sequence"):
        checked_transitions(allowed, 2)


def test_rows_and_columns_find_their_scores():
    transitions, start, end = (
        np.arange(4.0).reshape(2, 2),
        np.array([4.0, 5.0]),
        np.array([6.0, 7.0]),
    )
    allowed = np.ones([4, 4], bool)
    allowed[0, 1] = allowed[2, 0] = allowed[1, 3] = False
    got = constrained((transitions, start, end), allowed.tolist(), -9.0)
    expected = [[0.0, -9.0], [2.0, 3.0]], [-9.0, 5.0], [6.0, -9.0]
    assert tuple(x.numpy().tolist() for x in got) == expected
    assert constrained((transitions, start, end), None, -9.0)[0] is transitions
