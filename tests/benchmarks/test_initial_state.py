import numpy as np
import pytest

from benchmarks import initial_state
from tests.closeness import assert_close
from tfreps.models import BiLM
from tfreps.text import batch_to_ids


@pytest.mark.slow
def test_distance_is_zero_for_the_same_model_and_not_for_another_state():
    bilm = BiLM(filters=[[1, 8]], units=16, projection_dim=4, num_highways=1, initial_state="carry")
    batches = [[["a", "b"], ["c"], ["d", "e", "f"]]] * 3
    expected = []
    for batch in batches:
        top = bilm(batch_to_ids(batch))["sequence_output"].numpy()
        expected.append([top[row, : len(sentence)] for row, sentence in enumerate(batch)])
    bilm.reset_states()
    same = initial_state.compare(bilm, batches, expected)
    assert_close(same["relative_distance"], 0.0)
    assert_close(same["mean_cosine"], 1.0)
    zero = initial_state.compare(bilm.with_initial_state("zero"), batches, expected)
    assert zero["relative_distance"] > 1e-3


def test_distance_by_hand():
    class Twice:
        def __call__(self, ids):
            return {"sequence_output": Top(2 * np.ones([3, 1, 2]))}

    class Top:
        def __init__(self, value):
            self.value = value

        def numpy(self):
            return self.value

    ones = [np.ones([1, 2])] * 3
    result = initial_state.compare(Twice(), [[["a"]] * 3] * 2, [ones, ones])
    assert result == {"relative_distance": pytest.approx(1.0), "mean_cosine": pytest.approx(1.0)}
