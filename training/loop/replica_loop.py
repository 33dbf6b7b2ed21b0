"""ReplicaLoop: trains and evaluates a model on one device or on the replicas of a strategy."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.callbacks.step_logs import StepLogs
from tfreps._src.layers.ops.replicas import SEEDS_APART, num_replicas, own_rows, replica_number
from tfreps.training.workers.workers import Workers


class ReplicaLoop:
    """Runs the epochs of a model on all replicas of the strategy in whose scope it was created.

    It does what Keras's `fit` and `evaluate` do on one device. It also trains on batches that Keras
    cannot divide among replicas, and under strategies that Keras 3.15 does not support
    (`MultiWorkerMirroredStrategy`, Keras issue 20585). Every replica gets the whole batch, of which
    it computes some rows. From the same weights, a step with N replicas therefore has the gradients
    of a step on one device: the norm of the difference is at most 2e-6 times the norm of the
    gradients, if dropout is 0 (see `begin`). Over many steps, optimizers such as Adam increase this
    difference. With `own_batches`, each worker has its own batch, and the global batch consists of
    the rows of all workers. The `train_step` of the model must sum the gradients over the replicas.

    Args:
        model: `keras.Model`. A compiled model that was created in the scope of the strategy.
        own_batches: bool. Whether each worker reads its own training batches. If `False`, all
            workers read the same global batches. Defaults to `False`.
    """

    def __init__(self, model: keras.Model, own_batches: bool = False) -> None:
        self.model: keras.Model = model
        self.own_batches: bool = own_batches
        self._strategy = model.distribute_strategy
        # (name of a step, specs of its batches) -> traced function
        self._functions: dict[tuple[str, str], Callable] = {}

    def begin(self) -> None:
        """Gives each replica its own random numbers.

        Call this method once, before training but after any checkpoint is restored. Without it,
        dropout would use the same mask for rows of different replicas. The masks differ from those
        on one device. Random numbers that are drawn for all rows of a batch, such as those that
        select the carried states to reset, are the same for any number of replicas.
        """
        if self._strategy.num_replicas_in_sync == 1:
            return
        common = {id(seed) for seed in self.model._common_seeds}
        variables = self.model.variables
        seeds = [v for v in variables if "seed_generator" in v.path and id(v) not in common]

        def add_replica():
            own = tf.stack([replica_number() * SEEDS_APART, 0])
            for seed in seeds:
                seed.assign(tf.convert_to_tensor(seed) + tf.cast(own, seed.dtype))

        if seeds:
            tf.function(lambda: self._strategy.run(add_replica), autograph=False)()

    def fit_epoch(
        self,
        dataset: "tf.data.Dataset[Any]",
        steps: int,
        callbacks: Sequence[keras.callbacks.Callback],
        epoch: int,
        validation: "tf.data.Dataset[Any] | None" = None,
    ) -> None:
        """Trains the model for one epoch, or the rest of one, as `model.fit` does.

        Args:
            dataset: `tf.data.Dataset`. Batches for training.
            steps: int. Maximum number of batches to read.
            callbacks: sequence of Keras callbacks.
            epoch: int. Number of the epoch, counted from 0.
            validation: `tf.data.Dataset`. Batches on which the model is evaluated at the end of the
                epoch. If `None` (the default), it is not evaluated.
        """
        called = keras.callbacks.CallbackList(
            callbacks, model=self.model, epochs=epoch + 1, steps=steps
        )
        self.model.stop_training = False
        called.on_train_begin()
        self.model.reset_metrics()
        called.on_epoch_begin(epoch)
        logs: Any = {}
        train = self._function("train_step", dataset)
        for step, batch in zip(range(steps), dataset, strict=False):
            called.on_train_batch_begin(step)
            logs = self._logs(train(batch))
            for callback in called.callbacks:  # a `CallbackList` would convert `logs` to a dict
                callback.on_train_batch_end(step, logs)
            if self.model.stop_training:
                break
        logs = logs.exact() if logs else {}
        if validation is not None:
            measured = self.evaluate(validation, called)
            logs |= {f"val_{name}": value for name, value in measured.items()}
        called.on_epoch_end(epoch, logs)
        called.on_train_end(logs)

    def evaluate(
        self,
        dataset: "tf.data.Dataset[Any]",
        callbacks: keras.callbacks.CallbackList | None = None,
    ) -> dict[str, float]:
        """Evaluates the model on all batches of a data set, as `model.evaluate` does.

        Args:
            dataset: `tf.data.Dataset`. Batches for evaluation.
            callbacks: `keras.callbacks.CallbackList`, not a list of callbacks. If `None` (the
                default), there are no callbacks.

        Returns:
            dict from the names of the metrics to their values, float.
        """
        called = callbacks or keras.callbacks.CallbackList()
        called.on_test_begin()
        self.model.reset_metrics()
        logs: Any = {}
        test = self._function("test_step", dataset)
        for step, batch in enumerate(dataset):
            called.on_test_batch_begin(step)
            logs = self._logs(test(batch))
            called.on_test_batch_end(step, logs)
        logs = logs.exact() if logs else {}
        called.on_test_end(logs)
        return logs

    def _function(self, name: str, dataset: "tf.data.Dataset[Any]") -> Callable[..., Any]:
        """Returns a function that runs a step on a batch of a data set.

        The function is traced once for all shapes, so that a resumed run, which may begin
        with a batch of a different shape, rounds in the same way.
        """
        specs = dataset.element_spec
        key = name, str(specs)
        if key not in self._functions:
            step = getattr(self.model, name)
            of_worker = self.own_batches and name == "train_step"
            workers = Workers(self._strategy).size if of_worker else 1

            def own_step(batch):
                if num_replicas() > 1:
                    batch = rows_of_replica(batch, self.model._shared_features, workers)
                return step(batch)

            self._functions[key] = tf.function(
                lambda batch: self._strategy.run(own_step, args=(batch,)),
                input_signature=[specs],
                autograph=False,
            )
        return self._functions[key]

    def _logs(self, of_replicas: Mapping[str, Any]) -> StepLogs:
        first = {n: self._strategy.experimental_local_results(v)[0] for n, v in of_replicas.items()}
        return StepLogs(first, lambda: self._exact(first))

    def _exact(self, names: Iterable[str]) -> dict[str, float]:
        """Returns the metrics `names`, computed over all replicas, as a dict of floats.

        All workers must call this method after the same step.
        """
        results = self.model.get_metrics_result()
        return {name: float(results[name]) for name in names}


def rows_of_replica(batch: Any, shared: Sequence[str] = (), workers: int = 1) -> Any:
    """Returns the rows of a batch that this replica computes, in the structure of the batch.

    A batch is a tensor, or a tuple or dict of batches. The tensors of the keys in `shared` are
    returned unchanged. `workers` is the number of workers if the batch contains only the rows of
    one worker, or 1 if it contains the rows of all replicas.
    """
    if isinstance(batch, dict):
        own = {k: v for k, v in batch.items() if k not in shared}
        return batch | {k: rows_of_replica(v, shared, workers) for k, v in own.items()}
    if isinstance(batch, tuple | list):
        return tuple(rows_of_replica(part, shared, workers) for part in batch)
    local = num_replicas() // workers
    first, end = own_rows(tf.shape(batch)[0], replica_number() % local, local)
    rows = batch[first:end]
    rows.set_shape([None, *batch.shape[1:]])
    return rows
