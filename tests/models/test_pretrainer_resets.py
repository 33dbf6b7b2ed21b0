"""Tests `reset_probability`: some rows start a batch from the fixed state."""

import numpy as np
import pytest

from tests.closeness import assert_close
from tests.models.test_bilm_pretrainer import batches, make
from tfreps.optimizers import TF1Adagrad

ROWS = 40


def carried_after(tmp_path, number, **options):
    """Returns the carried state `[G, ROWS, numbers]` after some batches without training."""
    _, model = make(tmp_path, batch_size=ROWS, **options)
    model.compile(optimizer=TF1Adagrad(0.0))
    for batch in batches(number, rows=ROWS):
        model.train_step(batch)
    return in_rows(zip(model.carried[::2], model.carried[1::2], strict=True))


def in_rows(states):
    return np.array(
        [np.concatenate([np.reshape(part, [ROWS, -1]) for part in parts], 1) for parts in states]
    )


@pytest.mark.slow
def test_rows_start_anew_as_often_as_told(tmp_path):
    carried = carried_after(tmp_path, 2)
    _, last = batches(2, rows=ROWS)
    anew = in_rows(make(tmp_path, batch_size=ROWS)[1](last)[1])
    assert (np.abs(carried - anew).max(-1) > 1e-3).all()  # the previous batch has an effect
    always = carried_after(tmp_path, 2, reset_probability=1.0)
    assert_close(always, anew)

    some = carried_after(tmp_path, 2, reset_probability=0.3)
    is_anew = np.abs(some - anew).max(-1) < 1e-5  # [G, ROWS]
    assert_close(some, np.where(is_anew[..., None], anew, carried))
    assert 0.15 < is_anew.mean() < 0.45  # 80 draws at 0.3; three standard deviations are 0.15
    assert (is_anew[0] != is_anew[1]).any()  # each direction separately
