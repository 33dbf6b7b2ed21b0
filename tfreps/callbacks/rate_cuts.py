"""RateCuts: a lower learning rate after every epoch that brought no better metric."""

import keras

from tfreps.callbacks.monitors import check_mode, is_better


class RateCuts(keras.callbacks.Callback):
    """Multiplies the learning rate by a factor after each epoch without a better metric.

    `keras.callbacks.ReduceLROnPlateau` sets a number, and so cannot cut a schedule, or rates of
    several groups of variables; this changes the factor of a `tfreps.optimizers.CutRate`.

    Args:
        factor: `tf.Variable`, the factor of a `CutRate`, which several rates may share.
        cut: float in (0, 1]. What the factor is multiplied by at each cut.
        monitor: str. Name of the metric in the logs of `fit`. Default `"val_loss"`.
        mode: str. `"min"`, `"max"` or `"auto"`, where the name decides.

    Attributes:
        cuts: int. How often the rate was cut.

    Raises:
        ValueError: the mode is unknown, or `"auto"` does not know the metric.

    Example:
    >>> import keras, numpy as np
    >>> from tfreps.optimizers import CutRate
    >>> rate = CutRate(0.1)
    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> model.compile(keras.optimizers.SGD(rate), "mse")
    >>> x = np.zeros([8, 2])                      # whose loss is 0 from the first epoch on
    >>> cuts = RateCuts(rate.factor, 0.5)
    >>> given = {"validation_data": (x, x[:, :1]), "callbacks": [cuts], "verbose": 0}
    >>> _ = model.fit(x, x[:, :1], epochs=3, **given)
    >>> cuts.cuts, float(rate.factor)
    (2, 0.25)
    """

    def __init__(self, factor, cut, monitor="val_loss", mode="auto"):
        super().__init__()
        self.factor, self.cut, self.monitor, self.mode = factor, cut, monitor, mode
        self.direction = check_mode(monitor, mode)
        self.best, self.cuts = None, 0

    def on_train_begin(self, logs=None):
        self._set()

    def on_epoch_end(self, epoch, logs=None):
        if self.monitor not in (logs or {}):
            return
        value = float(logs[self.monitor])
        if is_better(value, self.best, self.direction):
            self.best = value
        else:
            self.cuts += 1
            self._set()

    def state(self):
        """Returns what `restore_state` needs: a dict of JSON types."""
        return {"best": self.best, "cuts": self.cuts}

    def restore_state(self, state):
        """Takes over what `state` returned; the rate is cut when `fit` begins."""
        self.best, self.cuts = state["best"], state["cuts"]

    def _set(self):
        self.factor.assign(self.cut**self.cuts)
