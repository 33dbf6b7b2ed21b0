"""Tests when the learning rate is reduced, and that a state restores the reductions."""

import tensorflow as tf

from tests.closeness import assert_close
from tfreps.callbacks import ReduceLearningRate


def test_every_epoch_without_a_better_metric_cuts():
    factor = tf.Variable(1.0)
    cuts = ReduceLearningRate(factor, 0.5, "val_auc")
    cuts.on_train_begin()
    factors = []
    for auc in (0.7, 0.8, 0.8, 0.75, 0.9, 0.85):
        cuts.on_epoch_end(0, {"val_auc": auc})
        factors.append(float(factor))
    assert_close(factors, [1.0, 1.0, 0.5, 0.25, 0.25, 0.125])
    assert cuts.state() == {"best": 0.9, "cuts": 3}
    later = tf.Variable(1.0)  # for a resumed run
    again = ReduceLearningRate(later, 0.5, "val_auc")
    again.restore_state(cuts.state())
    again.on_train_begin()
    assert float(later) == 0.125


def test_nothing_is_cut_where_nothing_is_measured():
    factor = tf.Variable(1.0)
    cuts = ReduceLearningRate(factor, 0.5, mode="min")
    cuts.on_epoch_end(0, {"loss": 1.0})
    assert float(factor) == 1.0 and cuts.cuts == 0
