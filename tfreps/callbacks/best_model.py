"""BestModel: saves the best model by a monitored metric, and stops when it stays away."""

import logging

from tfreps.callbacks.counted_steps import CountedSteps
from tfreps.callbacks.metric_log import check_finite
from tfreps.callbacks.monitors import check_mode, is_better, short_name


class BestModel(CountedSteps):
    """Saves the model whenever a monitored metric is better than ever before.

    Where the metric is not measured, as without validation data, the newest model is saved. A model
    that cannot be saved is not the best: a warning is logged, and training goes on.

    Args:
        save: function that saves a model, whole or not at all.
        monitor: str. Name of the metric in the logs of `fit`. Default `"val_loss"`.
        mode: str. `"min"`, `"max"` or `"auto"`, where the name decides.
        patience: int or None. Training stops after so many epochs without a better value.

    Attributes:
        best: dict. Value of the metric, by its name without `val_`, and `step` of the best model.
        waited: int. Epochs since then.

    Raises:
        ValueError: the mode is unknown, or `"auto"` does not know the metric. From `fit`: the loss
            is not a number any more; the model is not saved.

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

    def __init__(self, save, monitor="val_loss", mode="auto", patience=None):
        super().__init__()
        self.save, self.monitor, self.mode, self.patience = save, monitor, mode, patience
        self.direction = check_mode(monitor, mode)
        self.best, self.waited = {}, 0

    def on_epoch_end(self, epoch, logs=None):
        logs, name, found = logs or {}, short_name(self.monitor), {}
        check_finite(logs, self.step)
        if self.monitor in logs:
            value = float(logs[self.monitor])
            found = {name: value, "step": self.step}
            if not is_better(value, self.best.get(name), self.direction):
                self._wait()
                return
        try:
            self.save(self.model)
        except OSError as error:  # the best model so far is still there: go on
            logging.getLogger(__name__).warning("the model was not saved: %s", error)
            return
        self.best = {**self.best, **found}
        self.waited = 0

    def has_waited_enough(self):
        """Whether `patience` is at its end."""
        return self.patience is not None and self.waited >= self.patience

    def state(self):
        return {**super().state(), "best": dict(self.best), "waited": self.waited}

    def restore_state(self, state):
        super().restore_state(state)
        self.best, self.waited = dict(state["best"]), state["waited"]

    def _wait(self):
        self.waited += 1
        if self.has_waited_enough():
            self.model.stop_training = True
