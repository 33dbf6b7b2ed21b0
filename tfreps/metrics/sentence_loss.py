"""SentenceLoss: the mean loss of sentences in training, whatever the batches and their weights."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="tfreps")
class SentenceLoss(keras.metrics.Mean):
    """The mean loss of all sentences, from the losses of weighted batches.

        sum over b of B_b * (loss_b / w_b + penalty_b), divided by the sum of all B_b

    for batches of `B_b` sentences of the mean weight `w_b`. Keras's own `loss` counts the weights
    that make every sentence weigh alike in training (see `tfreps.data.SequenceBatches`) and then
    the sentences of each batch too: of batches of unlike size it shows too much.

    Update arguments:
        loss: float scalar, of a batch, with its weights.
        rows: int scalar, its sentences.
        sample_weight: float `[B]`, its weights; None for 1. Others, `[B, T]`, are not undone.
        penalty: float scalar, what is added to the loss of the sentences.

    Result: float32 scalar; 0 before the first batch.

    Example:
    >>> metric = SentenceLoss()
    >>> metric.update_state(6.0, 3, sample_weight=[1.5, 1.5, 1.5])  # 3 sentences with the loss 4
    >>> metric.update_state(0.5, 1, sample_weight=[0.5])            # and one with the loss 1
    >>> float(metric.result())
    3.25
    """

    def __init__(self, name="sentence_loss", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, loss, rows, sample_weight=None, penalty=0.0):
        weights = tf.ones([1]) if sample_weight is None else tf.cast(sample_weight, "float32")
        mean = tf.reduce_mean(weights) if weights.shape.rank == 1 else 1.0
        super().update_state(tf.math.divide_no_nan(loss, mean) + penalty, sample_weight=rows)
