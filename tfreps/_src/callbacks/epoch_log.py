"""EpochLog: logs the metrics of each epoch and shows the progress of training."""

import time

from tfreps._src.callbacks.metric_log import SECONDS_BETWEEN_LINES, MetricLog, check_finite, clock
from tfreps._src.callbacks.step_logs import exact_logs


class EpochLog(MetricLog):
    """Callback that logs metrics to TensorBoard and `history.jsonl` and shows a progress line.

    After each epoch, every metric of the model is written to TensorBoard under its own name
    (`loss`, `accuracy`, `f1` and so on) for the runs `train` and `validation`. The run `train` also
    has `training/learning_rate` and, if `tokens_per_epoch` is given, `training/tokens_per_second`.

    Args:
        folder: path. Folder for the event files and `history.jsonl`.
        epochs: int. Number of epochs of the run. If `None` (the default), the number passed to
            `fit` is used.
        tokens_per_epoch: int. Number of tokens per epoch, without padding. If `None` (the default),
            or if the number of batches is unknown, the speed and the remaining time are not shown.
        time_limit_minutes: float. Time limit of the run in minutes, which is used only to estimate
            the remaining time. If `None` (the default), there is no limit.
        every: int. Number of steps between two log entries within an epoch. Each entry contains the
            metrics of the epoch so far. If `None` (the default), entries are written only at the
            end of an epoch.
        say: function that shows a line of progress, called as
            `say(text, final=bool, progress=bool)`; see `MetricLog.say`. If `None` (the default),
            nothing is shown.

    Attributes:
        first_batch: int. Number of batches of the current epoch that were processed before `fit`
            was called. Set it before `fit` resumes training within an epoch. Defaults to 0.

    Raises:
        ValueError: During `fit`, if the training loss or perplexity is no longer finite.

    Example:
    >>> import json, keras, numpy as np, pathlib, tempfile
    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> model.compile(keras.optimizers.SGD(0.1), "mse")
    >>> x, folder = np.zeros([8, 2]), tempfile.mkdtemp()
    >>> log = EpochLog(folder)
    >>> _ = model.fit(x, x[:, :1], batch_size=4, epochs=2, callbacks=[log], verbose=0)
    >>> lines = pathlib.Path(folder, "history.jsonl").read_text().splitlines()
    >>> [json.loads(line)["step"] for line in lines]
    [2, 4]
    """

    def __init__(
        self,
        folder,
        epochs=None,
        tokens_per_epoch=None,
        time_limit_minutes=None,
        every=None,
        say=None,
    ):
        super().__init__(folder, say)
        self.epochs, self.tokens_per_epoch, self.time_limit_minutes = (
            epochs,
            tokens_per_epoch,
            time_limit_minutes,
        )
        self.every = every
        self.begin, self.said = time.monotonic(), 0.0
        self.seconds, self.batches, self.rate = 0.0, 0, 0.0
        self.is_new, self.first_batch = True, 0

    def on_train_begin(self, logs=None):
        if self.is_new:
            self._forget_later_steps()
        self.is_new = False

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch, self.epoch_begin, self.batches = epoch, time.monotonic(), 0

    def on_train_batch_end(self, batch, logs=None):
        self.batches += 1
        now = time.monotonic()
        self.seconds = max(now - self.epoch_begin, 1e-9)
        is_last = batch + 1 == self.params["steps"]
        if self.tokens_per_epoch and self.params["steps"]:
            self.rate = self._tokens(self.batches) / self.seconds
        if self.every and self.step % self.every == 0 and not is_last:
            self._write_train(logs)
        if now - self.said > SECONDS_BETWEEN_LINES:
            self.said = now
            number = f"{self.first_batch + self.batches}"
            if self.params["steps"]:
                number += f" of {self.first_batch + self.params['steps']}"
            parts = [self._epoch(self.epoch), f"batch {number}", _shown(logs), *self._pace()]
            self.say(" | ".join(parts), progress=True)

    def on_epoch_end(self, epoch, logs=None):
        logs = {name: float(value) for name, value in (logs or {}).items()}
        validation = {n.removeprefix("val_"): v for n, v in logs.items() if n.startswith("val_")}
        train = {name: value for name, value in logs.items() if not name.startswith("val_")}
        train = self._write_train(train, epoch=epoch + 1)
        if validation:
            self.append({"step": self.step, "epoch": epoch + 1, "run": "validation", **validation})
        self.write("validation", self.step, validation)
        self.flush()
        parts = [self._epoch(epoch), f"train {_shown(train)}"]
        parts += [f"validation {_shown(validation)}"] if validation else []
        self.say(" | ".join([*parts, *self._pace()]), final=True)

    def _write_train(self, logs, **place):
        """Writes the training metrics of a step and returns them with the learning rate."""
        train = exact_logs(logs)
        check_finite(train, self.step)
        train["training/learning_rate"] = self.learning_rate()
        self.append({"step": self.step, **place, "run": "train", **train})
        pace = {"training/tokens_per_second": self.rate} if self.tokens_per_epoch else {}
        self.write("train", self.step, {**train, **pace})
        return train

    def _epoch(self, epoch):
        return f"epoch {epoch + 1} of {self.epochs or self.params['epochs']}"

    def _tokens(self, batches):
        return self.tokens_per_epoch * batches / (self.first_batch + self.params["steps"])

    def _pace(self):
        """Returns a list of one str with the speed and the remaining time; `[]` if unknown."""
        if not self.rate:
            return []
        done = self._tokens(self.first_batch + self.batches)
        epochs = self.epochs or self.params["epochs"]
        left = (epochs - self.epoch) * self.tokens_per_epoch - done
        seconds = left / max(self.rate, 1e-9)
        if self.time_limit_minutes:
            seconds = min(seconds, 60 * self.time_limit_minutes - (time.monotonic() - self.begin))
        return [f"{self.rate:,.0f} tokens/s | {clock(max(seconds, 0))} left"]


def _shown(logs):
    """Formats the metrics whose names contain no slash, as in `loss 0.1234, f1 0.9012`."""
    return ", ".join(f"{name} {float(logs[name]):.4f}" for name in logs or () if "/" not in name)
