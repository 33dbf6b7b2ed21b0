import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps._src.metrics.tag_pairs import precision_recall_f1, tag_pairs


def test_ids_and_mask():
    true, pred, mask = tag_pairs(np.array([[1.0, 2.0]]), np.array([[1, 2]], "int64"))
    assert true.dtype == pred.dtype == tf.int32 and mask.dtype == tf.bool
    assert mask.numpy().all()


@pytest.mark.parametrize(
    "weights, expected",
    [
        ([[True, False], [False, True]], [[True, False], [False, True]]),
        ([[0.5, 0.0], [-1.0, 2.0]], [[True, False], [False, True]]),
        ([1.0, 0.0], [[True, True], [False, False]]),
        ([[1], [0]], [[True, True], [False, False]]),
    ],
)
def test_weights_become_a_mask(weights, expected):
    ids = [[0, 1], [2, 3]]
    assert tag_pairs(ids, ids, weights)[2].numpy().tolist() == expected


def test_scores_are_refused():
    for arguments in ([[0]], [[[0.1, 0.9]]]), ([0], [[0]]):
        with pytest.raises(ValueError, match=r"must be tag ids of shape \[B, T\]"):
            tag_pairs(*arguments)


def test_nothing_divided_by_nothing_is_zero():
    assert [float(x) for x in precision_recall_f1(0, 0, 0)] == [0.0, 0.0, 0.0]
    assert [float(x) for x in precision_recall_f1(0, 3, 0)] == [0.0, 0.0, 0.0]
    precision, recall, f1 = (float(x) for x in precision_recall_f1(3, 4, 6))
    assert_close(f1, 2 * precision * recall / (precision + recall))
