import types

import pytest
import tensorflow as tf

from tfreps.callbacks import BestModel, RateCuts


def test_every_epoch_without_a_better_figure_cuts():
    factor, best = tf.Variable(1.0), {}
    checkpoints = types.SimpleNamespace(step=0)
    keeper = BestModel(lambda model: None, best, checkpoints, "auc", True, patience=9)
    cuts = RateCuts(factor, 0.5, best)
    cuts.on_train_begin()
    factors = []
    for auc in (0.7, 0.8, 0.8, 0.75, 0.9, 0.85):
        keeper.on_epoch_end(0, {"val_auc": auc})
        cuts.on_epoch_end(0)
        factors.append(float(factor))
    assert factors == pytest.approx([1.0, 1.0, 0.5, 0.25, 0.25, 0.125])
    assert best == {"auc": 0.9, "step": 0, "waited": 1, "cuts": 3}
    later = tf.Variable(1.0)  # that of a resumed run
    RateCuts(later, 0.5, dict(best)).on_train_begin()
    assert float(later) == 0.125
