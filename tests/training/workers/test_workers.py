import numpy as np
import pytest
import tensorflow as tf

from tfreps.training.workers.workers import Workers


@pytest.fixture
def workers():
    return Workers(tf.distribute.get_strategy())


def test_one_process_is_the_chief(workers):
    assert (workers.size, workers.index, workers.is_chief) == (1, 0, True)
    assert workers.any((True, False)) == (True, False)


def test_an_error_is_raised(workers):
    workers.raise_together()
    with pytest.raises(OSError, match="disk full"):
        workers.raise_together(OSError("disk full"))
    workers.check_same({"a": 1}, "Use the same.")


class Gathered(Workers):
    """Three workers, of which this is the second; `change` sets the rows of the others."""

    def __init__(self, change):
        self.size, self.index, self.is_chief, self.change = 3, 1, False, change

    def sum(self, numbers):
        found = np.array(numbers)
        self.change(found)
        return found


class Told(Gathered):
    """Three workers, of which this is the second; the values of the others are given."""

    def gather(self, value):
        return [self.change[0], value, self.change[1]]


def test_a_flag_of_another_worker_counts():
    def set_second(sums):
        sums[1] += 1

    assert Gathered(set_second).any((False, False)) == (False, True)


def test_an_error_of_another_worker_is_an_error():
    with pytest.raises(ValueError, match="Worker 2 of 3 has stopped with an error"):
        Told([False, True]).raise_together()


def test_a_difference_is_named():
    same = {"b": "x", "a": 1}
    Told([same, same]).check_same(same, "Use the same.")
    for number, others in enumerate([[{"b": "y", "a": 1}, same], [same, {"b": "y", "a": 1}]]):
        expected = f"Worker {number + 1} of 3 .* but b differs. On this worker it is 'x'. Use the s"
        with pytest.raises(ValueError, match=expected):
            Told(others).check_same(same, "Use the same.")
    with pytest.raises(ValueError, match=r"but c differs. Use the same"):
        Told([same, {**same, "c": 2}]).check_same(same, "Use the same.")


def test_an_error_in_a_block_is_raised(workers):
    with pytest.raises(ValueError, match="line 3"), workers.together():
        raise ValueError("line 3")
    with pytest.raises(OSError, match="disk full"), workers.together():
        raise OSError("disk full")


def test_an_error_in_a_block_of_another_worker_is_an_error():
    done = []
    with pytest.raises(ValueError, match="Worker 2 of 3 has stopped with an error"):
        with Told([False, True]).together():
            done.append(True)
    assert done


def test_values_of_all_workers():
    def change(rows):
        if rows.shape == (3, 1):  # the sizes
            rows[2, 0] = 17
        else:
            for index, text in (0, b'"a"'), (2, b'{"b": [1, 2, 30]}'):
                rows[index] = np.frombuffer(text.ljust(24), "int64")

    assert Gathered(change).gather(["own"]) == ["a", ["own"], {"b": [1, 2, 30]}]


def test_one_process_has_its_own_sum(workers):
    assert workers.sum([1, 2]).tolist() == [1, 2] and workers.gather({"a": 1}) == [{"a": 1}]


REPORTS = [
    tf.errors.UnavailableError(None, None, "Collective ops is aborted by: Error reported from ..."),
    tf.errors.InternalError(None, None, "recvmsg:Connection reset by peer"),
]


@pytest.mark.parametrize("report", REPORTS)
def test_a_lost_worker_is_named(report):
    with pytest.raises(ValueError, match="^Worker 1 of 3 stopped because another worker has ended"):
        with Gathered(None).naming_lost_workers():
            raise report


def test_other_errors_are_not_changed(workers):
    with pytest.raises(tf.errors.InvalidArgumentError), Gathered(None).naming_lost_workers():
        raise tf.errors.InvalidArgumentError(None, None, "Tag ids must lie in 0..2.")
    with pytest.raises(tf.errors.UnavailableError), workers.naming_lost_workers():
        raise REPORTS[0]


def test_only_worker_0_prints(workers, capsys):
    for each in workers, Gathered(None):
        with each.only_chief_prints():
            print(f"worker {each.index}")
    assert capsys.readouterr().out == "worker 0\n"
