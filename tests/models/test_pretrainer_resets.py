"""BiLMPretrainer's `reset_probability`: rows that start a batch from the fixed state."""

import numpy as np

from tests.models.test_bilm_pretrainer import ROWS, batches, make
from tfreps.optimizers import TF1Adagrad


def carried_after(tmp_path, number, **options):
    """The carried state `[G, ROWS, numbers]` after some batches without learning."""
    _, model = make(tmp_path, **options)
    model.compile(optimizer=TF1Adagrad(0.0))
    for batch in batches(number):
        model.train_step(batch)
    kept = [np.reshape(state, [ROWS, -1]) for state in model.carried]
    return np.stack([np.concatenate(kept[i : i + 2], axis=1) for i in (0, 2)])


def test_rows_start_anew_as_often_as_told(tmp_path):
    carried = carried_after(tmp_path, 2)
    (_, last) = batches(2)
    anew = make(tmp_path)[1](last)[1]
    anew = [[np.reshape(part, [ROWS, -1]) for part in state] for state in anew]
    anew = np.stack([np.concatenate(state, axis=1) for state in anew])
    assert (np.abs(carried - anew).max(-1) > 1e-3).all()  # the batch before matters
    always = carried_after(tmp_path, 2, reset_probability=1.0)
    np.testing.assert_allclose(always, anew, atol=1e-6)

    seen = []
    for seed in range(12):
        some = carried_after(tmp_path, 2, reset_probability=0.3, seed=seed)
        is_anew = np.abs(some - anew).max(-1) < 1e-5  # [G, ROWS]
        np.testing.assert_allclose(some, np.where(is_anew[..., None], anew, carried), atol=1e-5)
        seen.append(is_anew)
    assert 0.15 < np.mean(seen) < 0.45  # 72 draws at 0.3: 3 deviations are 0.16
    assert any((one[0] != one[1]).any() for one in seen)  # each direction for itself
