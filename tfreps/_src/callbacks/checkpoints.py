"""Checkpoints: saves and restores all state that an exact resumption needs."""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import keras
import numpy as np

from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint, save_checkpoint
from tfreps._src.callbacks.counted_steps import CountedSteps
from tfreps._src.callbacks.metric_log import check_finite
from tfreps._src.callbacks.replica_variables import assign_to_replicas
from tfreps._src.callbacks.step_logs import Logs, exact_logs
from tfreps._src.callbacks.stop_signals import (
    Stopped,
    is_stop_requested,
    raise_if_requested,
    request_stop,
)
from tfreps._src.optimizers.optimizer_variables import build_optimizer


class TimeLimitReached(Exception):
    """Exception that ends `fit` within an epoch at the time limit, after a checkpoint is saved."""


class Checkpoints(CountedSteps):
    """Callback that saves and restores all state that an exact resumption needs.

    A checkpoint contains the weights, the state of the optimizer, the seeds of dropout and of
    negative sampling, carried LSTM states, running metrics, the position in the data, the step
    number and the states of other callbacks. It is one file, which is written completely or not at
    all. Keras's own weights files do not contain the seeds, the metrics or the position. All
    variables of the model and its metrics must exist when `restore` is called.

    The checkpoint at the end of an epoch is saved after all callbacks have handled the end of the
    epoch, regardless of their order. If a checkpoint cannot be written, a warning is logged and
    training continues.

    In the commands, SIGINT or SIGTERM ends `fit` after the next step, and a checkpoint of that step
    is saved. For signals during evaluation, see `save_on_stop`.

    Args:
        folder: str or path-like. Folder of the checkpoints.
        position: Callable that takes a step number and returns the position in the data, a
            JSON-serializable value. If `None` (the default), the position is the step number.
        save_freq: int. Number of steps between checkpoints. A checkpoint is also saved at the end
            of each epoch. Defaults to 1000.
        callbacks: dict from a name to a callback with `state()` and `restore_state(state)`, such as
            `BestModel`. Their states are saved and restored under these names. If `None` (the
            default), no states of other callbacks are saved.
        time_limit_minutes: float. Time limit of training in minutes, from the creation of this
            callback. If `None` (the default) or 0, there is no limit.
        evaluate_at_time_limit: bool. Whether the epoch in which the limit is reached ends at once
            and is evaluated. If `False`, `TimeLimitReached` ends `fit` without an evaluation, and a
            resumed run continues within the epoch. Defaults to `False`.
        is_writer: bool. Whether this process writes the checkpoints. With several workers, all must
            call `save`, but only one writes. Defaults to `True`.
        any_worker: Callable that takes a tuple of bools and returns, for each of them, whether it
            is `True` on any worker, so that all workers stop at the same step. If `None` (the
            default), there is only one worker.

    Attributes:
        pending_metrics: dict or `None`. Training metrics of an epoch whose steps are complete but
            which has not been evaluated yet; `None` if there is no such epoch. The dict has the
            metrics that `fit` passes to `on_epoch_end`, except validation metrics.

    Raises:
        ValueError: During `fit`, if the training loss or perplexity is no longer finite; this state
            is not saved.
        Stopped: During `fit`, if a signal was received.
        TimeLimitReached: During `fit`, if the time limit is reached within an epoch and
            `evaluate_at_time_limit` is `False`.

    Example:
    >>> import keras, numpy as np, tempfile
    >>> def make_model():
    ...     model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
    ...     model.compile(keras.optimizers.Adam(), "mse")
    ...     return model
    >>> x, folder = np.ones([8, 2]), tempfile.mkdtemp()
    >>> given = {"batch_size": 4, "verbose": 0, "shuffle": False}
    >>> trained = make_model()
    >>> _ = trained.fit(x, x[:, :1], epochs=2, callbacks=[Checkpoints(folder)], **given)
    >>> restored, checkpoints = make_model(), Checkpoints(folder)
    >>> _ = restored.evaluate(x, x[:, :1], verbose=0)  # creates the variables of the metrics
    >>> checkpoints.restore(restored), checkpoints.step
    (4, 4)
    >>> bool(np.all(restored.get_weights()[0] == trained.get_weights()[0]))
    True
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        position: Callable[[int], Any] | None = None,
        save_freq: int = 1000,
        callbacks: Mapping[str, Any] | None = None,
        time_limit_minutes: float | None = None,
        evaluate_at_time_limit: bool = False,
        is_writer: bool = True,
        any_worker: Callable[[tuple[bool, ...]], Sequence[bool]] | None = None,
    ) -> None:
        super().__init__()
        self.folder: str | os.PathLike[str] = folder
        self.position: Callable[[int], Any] = position or (lambda step: step)
        self.save_freq: int = save_freq
        self.callbacks: Mapping[str, Any] = callbacks or {}
        self.time_limit_minutes: float | None = time_limit_minutes
        self.evaluate_at_time_limit: bool = evaluate_at_time_limit
        self.is_writer: bool = is_writer
        self.any_worker: Callable[[tuple[bool, ...]], Sequence[bool]] = any_worker or (
            lambda flags: flags
        )
        self.pending_metrics: dict[str, float] | None = None
        self._begin = time.monotonic()
        self._metrics_to_restore: dict[str, np.ndarray] | None = None
        self._is_due = False  # whether the end of an epoch must be saved

    def restore(self, model: keras.Model) -> Any:
        """Restores a compiled model and the states of the callbacks from the newest checkpoint.

        If a checkpoint is damaged, the next older one is used; a warning names both.

        Args:
            model: `keras.Model`, compiled.

        Returns:
            The position in the data; `None` if no checkpoint is intact.

        Raises:
            ValueError: If the checkpoint was saved with a different model or optimizer, or with
                different metrics or callbacks.
        """
        found = load_latest_checkpoint(self.folder)
        if found is None:
            return None
        step, arrays, state = found
        self.step = step
        build_optimizer(model)
        self._restore_variables(model, arrays)
        if state["in_epoch"]:
            self._metrics_to_restore = {n: a for n, a in arrays.items() if n.startswith("metrics/")}
        if set(state["callbacks"]) != set(self.callbacks):
            raise ValueError(
                f"The checkpoint in {self.folder} has the states of "
                f"{_names(state['callbacks'])}; expected the states of {_names(self.callbacks)}. "
                "Use the callbacks of the earlier run."
            )
        for name, callback in self.callbacks.items():
            callback.restore_state(state["callbacks"][name])
        self.pending_metrics = state["pending_metrics"]
        return state["position"]

    def save(self, in_epoch: bool) -> None:
        """Saves a checkpoint of the current state.

        Args:
            in_epoch: bool. `True` within an epoch, `False` at the end of an epoch.
        """
        arrays = {name: variable.numpy() for name, variable in _variables(self.model).items()}
        state = {
            "position": self.position(self.step),
            "callbacks": {name: each.state() for name, each in self.callbacks.items()},
            "in_epoch": in_epoch,
            "pending_metrics": self.pending_metrics,
        }
        if in_epoch and self.model.distribute_strategy.num_replicas_in_sync > 1:
            # `restore` divides sums among replicas, which changes their rounding. The same
            # is done here, so that this run stays equal to a resumed run.
            self._restore_metrics(arrays)
        if not self.is_writer:
            return
        try:
            save_checkpoint(self.folder, self.step, arrays, state)
        except OSError as error:
            # The error is only logged, because the previous checkpoint still exists.
            log = logging.getLogger(__name__)
            log.warning("could not save the checkpoint of step %d: %s", self.step, error)

    @contextlib.contextmanager
    def save_on_stop(self, before: Callable[[], object] | None = None) -> Iterator[None]:
        """Context manager that saves a checkpoint if a signal interrupts an evaluation in `fit`.

        Args:
            before: Callable without arguments that is called before the checkpoint is saved. If
                `None` (the default), no function is called.
        """
        try:
            yield
        except Stopped:
            if self.pending_metrics is not None:
                if before is not None:
                    before()
                self.save(in_epoch=False)
            raise

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        self._save_end_of_epoch()
        if self._metrics_to_restore is not None:  # Keras has just reset the metrics
            self._restore_metrics(self._metrics_to_restore)
            self._metrics_to_restore = None

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        is_last = batch + 1 == self.params["steps"]
        is_over = (
            bool(self.time_limit_minutes)
            and time.monotonic() - self._begin > 60 * self.time_limit_minutes
        )
        is_over, is_stop = self.any_worker((is_over, is_stop_requested()))
        if is_stop:
            request_stop()  # another worker may have received the signal
        if is_over and (is_last or self.evaluate_at_time_limit):
            self.model.stop_training = True
        if is_last or self.model.stop_training:
            # These metrics are saved at the end of the epoch.
            self.pending_metrics = exact_logs(logs)
            return
        if self.step % self.save_freq == 0 or is_over or is_stop:
            check_finite(exact_logs(logs), self.step)
            self.save(in_epoch=True)
        if is_stop:
            raise_if_requested(f" at step {self.step:,}")
        if is_over:
            raise TimeLimitReached

    def on_test_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        if self.pending_metrics is not None:
            self._stop_if_requested()

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        check_finite(logs or {}, self.step)
        self.pending_metrics, self._is_due = None, True

    def on_train_end(self, logs: Logs | None = None) -> None:
        self._save_end_of_epoch()

    def _save_end_of_epoch(self) -> None:
        if self._is_due:
            self._is_due = False
            self.save(in_epoch=False)
            self._stop_if_requested()

    def _stop_if_requested(self) -> None:
        if self.any_worker((is_stop_requested(),))[0]:
            request_stop()
            raise_if_requested(f" at step {self.step:,}")

    def _restore_metrics(self, arrays: Mapping[str, np.ndarray]) -> None:
        names = [name for name in _variables(self.model) if name.startswith("metrics/")]
        values = [arrays[name] for name in names]
        assign_to_replicas(self.model, self.model.metrics_variables, values)

    def _restore_variables(self, model: keras.Model, arrays: Mapping[str, np.ndarray]) -> None:
        variables = _variables(model)
        if set(variables) != set(arrays):
            odd = sorted(set(variables) ^ set(arrays))
            only_metrics = all(name.startswith("metrics/") for name in odd)
            a, what = ("", "metrics") if only_metrics else ("a ", "model or optimizer")
            raise ValueError(
                f"The checkpoint in {self.folder} was saved with {a}different {what}: "
                f"{len(odd)} of the array names occur only in the checkpoint or only in the "
                f"model, such as {odd[0]}. Use the {what} of the earlier run."
            )
        for name, variable in variables.items():
            if tuple(variable.shape) != arrays[name].shape:
                raise ValueError(
                    f"The checkpoint in {self.folder} belongs to a different model: {name} has "
                    f"shape {arrays[name].shape}; expected {tuple(variable.shape)}. Use the model "
                    "of the earlier run."
                )
        assign_to_replicas(model, variables.values(), [arrays[name] for name in variables])


def _names(callbacks: Iterable[str]) -> str:
    return ", ".join(sorted(callbacks)) or "no callbacks"


def _variables(model: keras.Model) -> dict[str, keras.Variable]:
    """Returns a dict from unique names to all variables of a model, its metrics and optimizer.

    The names do not contain layer names, because Keras adds a process-wide number to its default
    layer names. Each variable of the optimizer is named by its number alone, because Keras names
    these variables after layers.
    """
    variables = {}
    for number, variable in enumerate(model.variables):
        variables[f"model/{number}/{variable.name}"] = variable
    for number, variable in enumerate(model.metrics_variables):
        variables[f"metrics/{number}/{variable.name}"] = variable
    for number, variable in enumerate(model.optimizer.variables):
        variables[f"optimizer/{number}"] = variable
    return variables
