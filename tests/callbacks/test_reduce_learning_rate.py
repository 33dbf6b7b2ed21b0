"""Tests when the learning rate is reduced, and that a state restores the reductions."""

import tensorflow as tf

from tests.closeness import assert_close
from tfreps.callbacks import ReduceLearningRate


def test_every_epoch_without_a_better_metric_reduces():
    scale = tf.Variable(1.0)
    reduce = ReduceLearningRate(scale, 0.5, "val_auc")
    reduce.on_train_begin()
    scales = []
    for auc in (0.7, 0.8, 0.8, 0.75, 0.9, 0.85):
        reduce.on_epoch_end(0, {"val_auc": auc})
        scales.append(float(scale))
    assert_close(scales, [1.0, 1.0, 0.5, 0.25, 0.25, 0.125])
    assert reduce.state() == {"best": 0.9, "num_reductions": 3}
    later = tf.Variable(1.0)  # for a resumed run
    again = ReduceLearningRate(later, 0.5, "val_auc")
    again.restore_state(reduce.state())
    again.on_train_begin()
    assert float(later) == 0.125


def test_nothing_is_reduced_without_the_metric():
    scale = tf.Variable(1.0)
    reduce = ReduceLearningRate(scale, 0.5, mode="min")
    reduce.on_epoch_end(0, {"loss": 1.0})
    assert float(scale) == 1.0 and reduce.num_reductions == 0
