import pytest
import tensorflow as tf

from tfreps._src.layers.ops.replicas import (
    num_replicas,
    own_rows,
    replica_number,
    sum_over_replicas,
)


@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 128])
@pytest.mark.parametrize("replicas", [1, 2, 3, 8])
def test_rows_are_divided_without_gaps_and_evenly(size, replicas):
    parts = [own_rows(size, replica, replicas) for replica in range(replicas)]
    assert [row for first, end in parts for row in range(first, end)] == list(range(size))
    sizes = [end - first for first, end in parts]
    assert max(sizes) - min(sizes) <= 1


def test_without_a_strategy_there_is_one_replica():
    assert num_replicas() == 1 and replica_number() == 0
    x = tf.constant([1.0, 2.0])
    assert sum_over_replicas(x) is x
    assert own_rows(5) == (0, 5)
