"""ReplicaSteps: training and evaluation steps with equal results on one or several devices."""

from typing import Any

import keras
import tensorflow as tf

from tfreps._src.layers.ops.replicas import num_replicas, sum_over_replicas
from tfreps._src.optimizers.summed_gradients import apply_summed


class ReplicaSteps:
    """Mixin with the steps of all models under a strategy of `tf.distribute`.

    Its last two methods override private methods of Keras 3.15, which has no public methods for
    this purpose.
    """

    # Names of the features that all replicas share, because they have no axis of rows, and the
    # variables of the seeds that have the same value on all replicas.
    _shared_features = ()
    _common_seeds = ()

    def train_step(self, data: Any) -> dict[str, tf.Tensor]:
        """Runs one training step like `keras.Model.train_step`, with any number of replicas.

        On the replicas of a strategy, the gradients are summed and then clipped once.
        """
        if num_replicas() == 1:
            return super().train_step(data)
        variables = self.trainable_variables
        with tf.GradientTape() as tape:
            loss, metrics = self._loss_of(data, training=True)
            scaled = self.optimizer.scale_loss(loss)
        apply_summed(self.optimizer, tape.gradient(scaled, variables), variables)
        return metrics()

    def test_step(self, data: Any) -> dict[str, tf.Tensor]:
        """Runs one evaluation step like `keras.Model.test_step`, with any number of replicas."""
        if num_replicas() == 1:
            return super().test_step(data)
        return self._loss_of(data, training=False)[1]()

    def _loss_of(self, data, training):
        """Returns this replica's part of the loss, and a function that computes the metrics."""
        x, y, weight = keras.utils.unpack_x_y_sample_weight(data)
        given = {"x": x, "y": y, "y_pred": self(x, training=training), "sample_weight": weight}
        loss = self.compute_loss(**given, training=training)
        # Keras would log this part times the number of replicas, which is wrong for unequal parts.
        total = sum_over_replicas(tf.stop_gradient(loss))
        tracker = next(metric for metric in self.metrics if metric.name == "loss")
        tracker.update_state(total, sample_weight=tf.shape(tf.nest.flatten(x)[0])[0])
        return loss, lambda: self.compute_metrics(**given)

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        """Creates the variables of losses and metrics under a strategy, like Keras's method.

        Keras 3.15 averages the batches of all replicas for this, which fails for booleans and, with
        several workers, for every batch (keras issue 20585). This method uses the batch of one
        replica instead.
        """
        if self._distribute_strategy is not None and iterator is not None:
            _, _, batches = next(iter(iterator))
            local = self._distribute_strategy.experimental_local_results
            data_batch = tf.nest.map_structure(lambda value: local(value)[0], next(batches))
        super()._maybe_symbolic_build(data_batch=data_batch)

    def _get_metrics_result_or_logs(self, logs):
        """Returns a dict of the metrics over all replicas; Keras would average over replicas."""
        if self.distribute_strategy.num_replicas_in_sync == 1:
            return super()._get_metrics_result_or_logs(logs)
        results = self.get_metrics_result()
        return {name: results.get(name, value) for name, value in logs.items()}
