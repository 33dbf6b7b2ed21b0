"""ReduceLearningRate: reduces the learning rate after each epoch without improvement."""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf

from tfreps._src.callbacks.monitors import Direction, MonitorMode, check_mode, is_better
from tfreps._src.callbacks.step_logs import Logs


class ReduceLearningRate(keras.callbacks.Callback):
    """Callback that multiplies the learning rate by a factor after each epoch without improvement.

    `keras.callbacks.ReduceLROnPlateau` sets the learning rate to a number, so it cannot reduce a
    schedule or the learning rates of several groups of variables. This callback changes the scale
    of a `tfreps.optimizers.ReducibleLearningRate` instead.

    Args:
        scale: `tf.Variable`. The scale of a `ReducibleLearningRate`. Several learning rates may
            share it.
        factor: float in (0, 1]. Value by which the scale is multiplied at each reduction.
        monitor: str. Name of the metric in the logs of `fit`. An epoch without this metric is
            ignored. Defaults to `"val_loss"`.
        mode: `"min"`, `"max"` or `"auto"`. With `"auto"`, the name of the metric determines the
            mode. Defaults to `"auto"`.

    Attributes:
        num_reductions: int. Number of reductions so far.

    Raises:
        ValueError: If the mode is unknown, or `"auto"` cannot infer it from the name of the metric.

    Example:
    >>> import keras, numpy as np
    >>> from tfreps.optimizers import ReducibleLearningRate
    >>> rate = ReducibleLearningRate(0.1)
    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> model.compile(keras.optimizers.SGD(rate), "mse")
    >>> x = np.zeros([8, 2])                      # the loss is 0 in every epoch
    >>> reduce = ReduceLearningRate(rate.scale, factor=0.5)
    >>> given = {"validation_data": (x, x[:, :1]), "callbacks": [reduce], "verbose": 0}
    >>> _ = model.fit(x, x[:, :1], epochs=3, **given)
    >>> reduce.num_reductions, float(rate.scale)
    (2, 0.25)
    """

    def __init__(
        self,
        scale: tf.Variable,
        factor: float,
        monitor: str = "val_loss",
        mode: MonitorMode = "auto",
    ) -> None:
        super().__init__()
        self.scale: tf.Variable = scale
        self.factor: float = factor
        self.monitor: str = monitor
        self.mode: MonitorMode = mode
        self._direction: Direction = check_mode(monitor, mode)
        self.best: float | None = None
        self.num_reductions: int = 0

    def on_train_begin(self, logs: Logs | None = None) -> None:
        self._set()

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        if logs is None or self.monitor not in logs:
            return
        value = float(logs[self.monitor])
        if is_better(value, self.best, self._direction):
            self.best = value
        else:
            self.num_reductions += 1
            self._set()

    def state(self) -> dict[str, Any]:
        """Returns the state that `restore_state` needs, as a JSON-serializable dict."""
        return {"best": self.best, "num_reductions": self.num_reductions}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Restores the state from a dict that `state()` returned; the next `fit` sets the scale."""
        self.best, self.num_reductions = state["best"], state["num_reductions"]

    def _set(self) -> None:
        self.scale.assign(self.factor**self.num_reductions)
