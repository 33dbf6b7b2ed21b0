"""EpochLog: figures and progress of a training by epochs, measured after each."""

import time

from tfreps.callbacks.figure_log import SECONDS_BETWEEN_LINES, FigureLog, check_finite, clock


class EpochLog(FigureLog):
    """Writes figures for TensorBoard, `history.jsonl`, and a progress line.

    After each epoch TensorBoard gains a point of every metric of the model under its own name,
    `loss`, `accuracy`, `f1` ..., for the runs `train` and `validation`; and for `train`
    `training/tokens_per_second` and `training/learning_rate`.

    Args:
        folder: pathlib.Path. Where the event files and `history.jsonl` go.
        checkpoints: `Checkpoints`, for the number of the step; put it behind this one.
        epochs: int. Where the run ends.
        tokens_per_epoch: int. Real tokens of an epoch.
        minutes: float or None. Training stops after this time: within an epoch by `OutOfTime`.
        every: int or None. Steps between points within an epoch, each of what the metrics say of
            the epoch so far.

    Attributes:
        first_batch: int. Batches of this epoch that were done before `fit` was called.
    """

    def __init__(self, folder, checkpoints, epochs, tokens_per_epoch, minutes=None, every=None):
        super().__init__(folder, checkpoints)
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
        self.rate = self._tokens(self.batches) / self.seconds
        step, is_last = self.checkpoints.step + 1, batch + 1 == self.params["steps"]
        if self.minutes and now - self.begin > 60 * self.minutes:
            if is_last:
                self.model.stop_training = True
            else:
                self.checkpoints.out_of_time = True
        if self.every and step % self.every == 0 and not is_last:
            self._write_train(step, logs)
        if now - self.said > SECONDS_BETWEEN_LINES:
            self.said = now
            self.say(
                f"epoch {self.epoch + 1} of {self.epochs} | batch "
                f"{self.first_batch + self.batches} of {self.first_batch + self.params['steps']} "
                f"| {_shown(logs)} | {self._pace()}",
                progress=True,
            )

    def on_epoch_end(self, epoch, logs=None):
        step = self.checkpoints.step
        logs = {name: float(value) for name, value in (logs or {}).items()}
        validation = {n.removeprefix("val_"): v for n, v in logs.items() if n.startswith("val_")}
        train = {name: value for name, value in logs.items() if not name.startswith("val_")}
        train = self._write_train(step, train, epoch=epoch + 1)
        if validation:
            self.append({"step": step, "epoch": epoch + 1, "run": "validation", **validation})
        self.write("validation", step, validation)
        self.flush()
        parts = [f"epoch {epoch + 1} of {self.epochs}", f"train {_shown(train)}"]
        parts += [f"validation {_shown(validation)}"] if validation else []
        parts += [self._pace()] if self.rate else []  # none where it was only measured
        self.say(" | ".join(parts), final=True)

    def _write_train(self, step, logs, **place):
        """Writes the figures of training at a step, and returns them with the learning rate."""
        train = {name: float(value) for name, value in (logs or {}).items()}
        check_finite(train, step)
        train["training/learning_rate"] = float(self.model.optimizer.learning_rate)
        self.append({"step": step, **place, "run": "train", **train})
        self.write("train", step, {**train, "training/tokens_per_second": self.rate})
        return train

    def _tokens(self, batches):
        return self.tokens_per_epoch * batches / (self.first_batch + self.params["steps"])

    def _pace(self):
        done = self._tokens(self.first_batch + self.batches)
        left = (self.epochs - self.epoch) * self.tokens_per_epoch - done
        seconds = left / max(self.rate, 1e-9)
        if self.minutes:
            seconds = min(seconds, 60 * self.minutes - (time.monotonic() - self.begin))
        return f"{self.rate:,.0f} tokens/s | {clock(max(seconds, 0))} left"


def _shown(logs):
    """The metrics as `loss 0.1234, f1 0.9012`."""
    return ", ".join(f"{name} {float(logs[name]):.4f}" for name in logs if "/" not in name)
