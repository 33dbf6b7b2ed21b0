import tensorflow as tf

from tfreps.models.mean_loss import mean_of_rows, over_replicas


def test_the_mean_of_no_rows_is_zero():
    assert float(mean_of_rows(tf.constant([1.0, 2.0, 6.0]))) == 3.0
    assert float(mean_of_rows(tf.zeros([0]))) == 0.0


def test_one_replica_has_the_whole_loss():
    loss, weights = tf.constant(2.0), tf.constant([1.0, 3.0])
    assert over_replicas(loss, 2, weights) == (loss, loss, weights)
