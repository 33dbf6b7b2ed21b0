"""EpochLog: metrics and progress of a training by epochs, measured after each."""

import time

from tfreps.callbacks.metric_log import SECONDS_BETWEEN_LINES, MetricLog, check_finite, clock


class EpochLog(MetricLog):
    """Writes metrics for TensorBoard and `history.jsonl`, and a progress line.

    After each epoch TensorBoard gains a point of every metric of the model under its own name,
    `loss`, `accuracy`, `f1` ..., for the runs `train` and `validation`; and for `train`
    `training/tokens_per_second` and `training/learning_rate`.

    Args:
        folder: path. Where the event files and `history.jsonl` go.
        epochs: int. Where the run ends; None for where `fit` does.
        tokens_per_epoch: int. Real tokens of an epoch; None where no pace is wanted.
        minutes: float or None. When the run ends at the latest, for the time left.
        every: int or None. Steps between points within an epoch, each of what the metrics say of
            the epoch so far.
        say: function that shows a line of progress, as of `MetricLog`; None to show nothing.

    Attributes:
        first_batch: int. Batches of this epoch that were done before `fit` was called.

    Raises, from `fit`:
        ValueError: the loss is not a number any more.

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
        self, folder, epochs=None, tokens_per_epoch=None, minutes=None, every=None, say=None
    ):
        super().__init__(folder, say)
        self.epochs, self.tokens_per_epoch, self.minutes = epochs, tokens_per_epoch, minutes
        self.every = every
        self.begin, self.said = time.monotonic(), 0.0
        self.seconds, self.batches, self.rate = 0.0, 0, 0.0
        self.is_new, self.first_batch = True, 0

    def on_train_begin(self, logs=None):
        if self.is_new:
            self.forget_later_steps()
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
        """Writes the metrics of training at a step, and returns them with the learning rate."""
        train = {name: float(value) for name, value in (logs or {}).items()}
        check_finite(train, self.step)
        train["training/learning_rate"] = float(self.model.optimizer.learning_rate)
        self.append({"step": self.step, **place, "run": "train", **train})
        pace = {"training/tokens_per_second": self.rate} if self.tokens_per_epoch else {}
        self.write("train", self.step, {**train, **pace})
        return train

    def _epoch(self, epoch):
        return f"epoch {epoch + 1} of {self.epochs or self.params['epochs']}"

    def _tokens(self, batches):
        return self.tokens_per_epoch * batches / (self.first_batch + self.params["steps"])

    def _pace(self):
        """The tokens per second and the time left; nothing where no step was timed."""
        if not self.rate:
            return []
        done = self._tokens(self.first_batch + self.batches)
        epochs = self.epochs or self.params["epochs"]
        left = (epochs - self.epoch) * self.tokens_per_epoch - done
        seconds = left / max(self.rate, 1e-9)
        if self.minutes:
            seconds = min(seconds, 60 * self.minutes - (time.monotonic() - self.begin))
        return [f"{self.rate:,.0f} tokens/s | {clock(max(seconds, 0))} left"]


def _shown(logs):
    """The metrics as `loss 0.1234, f1 0.9012`."""
    return ", ".join(f"{name} {float(logs[name]):.4f}" for name in logs or () if "/" not in name)
