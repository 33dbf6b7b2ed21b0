"""BestModel: keeps the model with the best validation figure, and stops when it stays away."""

import math
import sys

import keras


class BestModel(keras.callbacks.Callback):
    """Keeps the model with the best validation figure; without validation, the newest.

    Args:
        save: function that saves a model, whole or not at all.
        best: dict with the figure and the `step` of the best so far, and `waited`, the epochs
            since then (with `patience`); updated in place, so that a checkpoint can hold it.
        checkpoints: `Checkpoints`, for the number of the step.
        figure: str. Which of the validation figures, without `val_`. Default `"perplexity"`.
        larger_is_better: bool.
        patience: int or None. Training stops after so many epochs without a better figure.
    """

    def __init__(
        self, save, best, checkpoints, figure="perplexity", larger_is_better=False, patience=None
    ):
        super().__init__()
        self.save, self.best, self.checkpoints = save, best, checkpoints
        self.figure, self.larger_is_better, self.patience = figure, larger_is_better, patience

    def on_epoch_end(self, epoch, logs=None):
        figures = {}
        if f"val_{self.figure}" in (logs or {}):
            value = float(logs[f"val_{self.figure}"])
            figures = {self.figure: value, "step": self.checkpoints.step}
            if not self._is_better(value):
                self._wait()
                return
        try:
            self.save(self.model)
        except OSError as error:  # the best model so far is still there: go on
            print(f"\nwarning: the model was not saved: {error}", file=sys.stderr)
            return
        self.best.update(figures)
        self.best.pop("waited", None)

    def has_waited_enough(self):
        """Whether `patience` is at its end."""
        return self.patience is not None and self.best.get("waited", 0) >= self.patience

    def _is_better(self, value):
        sign = -1.0 if self.larger_is_better else 1.0
        return sign * value < sign * self.best.get(self.figure, sign * math.inf)

    def _wait(self):
        if self.patience is not None:
            self.best["waited"] = self.best.get("waited", 0) + 1
        if self.has_waited_enough():
            self.model.stop_training = True
