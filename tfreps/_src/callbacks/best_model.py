"""BestModel: saves the best model by a monitored metric and stops training early."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import keras

from tfreps._src.callbacks.counted_steps import CountedSteps
from tfreps._src.callbacks.metric_log import check_finite
from tfreps._src.callbacks.monitors import Direction, MonitorMode, check_mode, is_better, short_name
from tfreps._src.callbacks.step_logs import Logs


class BestModel(CountedSteps):
    """Callback that saves the model whenever a monitored metric improves.

    If the metric is not measured, for example without validation data, the model is saved after
    every epoch. If `save` raises OSError, a warning is logged, training continues, and the model
    does not count as the best one.

    Args:
        save: Callable that takes the model and saves it, completely or not at all.
        monitor: str. Name of the metric in the logs of `fit`. Defaults to `"val_loss"`.
        mode: `"min"`, `"max"` or `"auto"`. With `"auto"`, the name of the metric determines the
            mode. Defaults to `"auto"`.
        patience: int. Number of epochs without improvement after which training stops. If `None`
            (the default), training does not stop early.

    Attributes:
        best: dict with two entries, empty until the metric is measured: `step`, the step of the
            best model, and the best value of the metric, under the name of the metric without
            `val_`, such as `loss`.
        wait: int. Number of epochs without improvement since the best model.

    Raises:
        ValueError: If `mode` is unknown, or is `"auto"` and cannot be inferred from the name of the
            metric. During `fit`, if the training loss or perplexity is no longer finite; the model
            is then not saved.

    Example:
    >>> import keras, numpy as np
    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> model.compile(keras.optimizers.SGD(0.1), "mse")
    >>> x, saved = np.ones([8, 2]), []
    >>> keeper = BestModel(lambda model: saved.append(model.get_weights()), patience=2)
    >>> given = {"validation_data": (x, x[:, :1]), "callbacks": [keeper], "verbose": 0}
    >>> _ = model.fit(x, x[:, :1], epochs=3, **given)
    >>> len(saved), sorted(keeper.best)
    (3, ['loss', 'step'])
    """

    def __init__(
        self,
        save: Callable[[keras.Model], object],
        monitor: str = "val_loss",
        mode: MonitorMode = "auto",
        patience: int | None = None,
    ) -> None:
        super().__init__()
        self.save: Callable[[keras.Model], object] = save
        self.monitor: str = monitor
        self.mode: MonitorMode = mode
        self.patience: int | None = patience
        self._direction: Direction = check_mode(monitor, mode)
        self.best: dict[str, float] = {}
        self.wait: int = 0

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Saves the model if the metric improved or was not measured; otherwise, adds 1 to `wait`.

        Training stops when `wait` reaches `patience`.
        """
        logs, name, found = logs or {}, short_name(self.monitor), {}
        check_finite(logs, self.step)
        if self.monitor in logs:
            value = float(logs[self.monitor])
            found = {name: value, "step": self.step}
            if not is_better(value, self.best.get(name), self._direction):
                self._wait()
                return
        try:
            self.save(self.model)
        except OSError as error:
            # The error is only logged, because the previous best model still exists.
            logging.getLogger(__name__).warning("could not save the model: %s", error)
            return
        self.best = {**self.best, **found}
        self.wait = 0

    def patience_exceeded(self) -> bool:
        """Returns True if the metric has not improved for `patience` epochs."""
        return self.patience is not None and self.wait >= self.patience

    def state(self) -> dict[str, Any]:
        """Returns the state that `restore_state` needs, as a JSON-serializable dict."""
        return {**super().state(), "best": dict(self.best), "wait": self.wait}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Restores the state from a dict that `state()` returned, possibly in another process."""
        super().restore_state(state)
        self.best, self.wait = dict(state["best"]), state["wait"]

    def _wait(self) -> None:
        self.wait += 1
        if self.patience_exceeded():
            self.model.stop_training = True
