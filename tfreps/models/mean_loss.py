"""SentenceLossModel: mean loss of the rows of a batch, which replicas may divide."""

import tensorflow as tf

from tfreps.layers.ops.replicas import num_replicas, sum_over_replicas
from tfreps.models.own_loss import OwnLossModel


class SentenceLossModel(OwnLossModel):
    """Mixin for models with a `SentenceLoss`, whose result is the `loss` in the logs."""

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        results = super().compute_metrics(x, y, y_pred, sample_weight)
        results["loss"] = results.pop(self.sentence_loss.name)
        return results

    def get_metrics_result(self):
        results = super().get_metrics_result()
        return {**results, "loss": results.pop(self.sentence_loss.name)}

    def _with_penalty(self, loss, rows, sample_weight):
        """Returns this replica's part of the mean loss and of the penalties, and logs the loss."""
        penalty = sum(tf.cast(term, "float32") for term in self.losses)
        part, loss, sample_weight = over_replicas(loss, rows, sample_weight)
        self.sentence_loss.update_state(loss, rows, sample_weight, penalty)
        return part + penalty / num_replicas()


def mean_of_rows(losses):
    """Returns the mean of the losses `[B]`, 0 if there are none.

    A replica has no rows if the last batch of an epoch has fewer rows than there are replicas.
    """
    count = tf.cast(tf.maximum(tf.size(losses), 1), losses.dtype)
    return tf.reduce_sum(losses) / count


def over_replicas(loss, rows, sample_weight=None):
    """Returns this replica's part of the loss, and arguments for `SentenceLoss.update_state`.

        part_r = loss_r * rows_r / sum over replicas of rows

    `loss` is the mean loss of the `rows` of this replica, and `sample_weight` is `[B]`, `[B, T]` or
    `None`. Returns the part; the mean loss of the global batch; and the mean weight of its rows,
    `[1]`, or `None` without weights of rows. With one replica, the arguments are returned.
    """
    if num_replicas() == 1:
        return loss, loss, sample_weight
    rows = tf.cast(rows, "float32")
    is_per_row = sample_weight is not None and sample_weight.shape.rank == 1
    weights = tf.reduce_sum(tf.cast(sample_weight, "float32")) if is_per_row else rows
    total, loss_sum, weight_sum = tf.unstack(
        sum_over_replicas(tf.stop_gradient(tf.stack([rows, rows * loss, weights])))
    )
    total = tf.maximum(total, 1.0)
    mean_weight = (weight_sum / total)[None] if is_per_row else None
    return loss * rows / total, loss_sum / total, mean_weight
