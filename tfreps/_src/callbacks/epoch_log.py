"""EpochLog: logs the metrics of each epoch and shows the progress of training."""

import os
import time

from tfreps._src.callbacks.metric_log import (
    SECONDS_BETWEEN_LINES,
    MetricLog,
    PrintFn,
    check_finite,
    clock,
)
from tfreps._src.callbacks.step_logs import Logs, exact_logs


class EpochLog(MetricLog):
    """Callback that logs metrics to TensorBoard and `history.jsonl` and shows a progress line.

    After each epoch, every metric of the model is written to TensorBoard under its own name
    (`loss`, `accuracy`, `f1` and so on) for the runs `train` and `validation`. The run `train` also
    has `training/learning_rate` and, if `tokens_per_epoch` is given and the number of batches is
    known, `training/tokens_per_second`.

    Args:
        folder: str or path-like. Folder for the event files and `history.jsonl`.
        epochs: int. Number of epochs of the run. If `None` (the default), the number passed to
            `fit` is used.
        tokens_per_epoch: int. Number of tokens per epoch, without padding. If `None` (the default),
            or if the number of batches is unknown, the speed and the remaining time are not shown.
        time_limit_minutes: float. Time limit of the run in minutes, which is used only to estimate
            the remaining time. If `None` (the default), there is no limit.
        update_freq: int. Number of steps between two log entries within an epoch. Each entry
            contains the metrics of the epoch so far. If `None` (the default), entries are written
            only at the end of an epoch.
        print_fn: Callable that shows a line of progress, called as
            `print_fn(text, final=bool, progress=bool)`. The next line may replace a line that is
            not `final`, and a line with `progress` is of interest only while training runs. If
            `None` (the default), nothing is shown.

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
        folder: str | os.PathLike[str],
        epochs: int | None = None,
        tokens_per_epoch: int | None = None,
        time_limit_minutes: float | None = None,
        update_freq: int | None = None,
        print_fn: PrintFn | None = None,
    ) -> None:
        super().__init__(folder, print_fn)
        self.epochs: int | None = epochs
        self.tokens_per_epoch: int | None = tokens_per_epoch
        self.time_limit_minutes: float | None = time_limit_minutes
        self.update_freq: int | None = update_freq
        self._begin, self._said = time.monotonic(), 0.0
        self._seconds, self._batches, self._rate = 0.0, 0, 0.0
        self._is_new = True
        self.first_batch: int = 0

    def on_train_begin(self, logs: Logs | None = None) -> None:
        if self._is_new:
            self._forget_later_steps()
        self._is_new = False

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        self._current_epoch, self._epoch_begin, self._batches = epoch, time.monotonic(), 0

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        self._batches += 1
        now = time.monotonic()
        self._seconds = max(now - self._epoch_begin, 1e-9)
        is_last = batch + 1 == self.params["steps"]
        if self.tokens_per_epoch and self.params["steps"]:
            self._rate = self._tokens(self._batches) / self._seconds
        if self.update_freq and self.step % self.update_freq == 0 and not is_last:
            self._write_train(logs)
        if now - self._said > SECONDS_BETWEEN_LINES:
            self._said = now
            number = f"{self.first_batch + self._batches}"
            if self.params["steps"]:
                number += f" of {self.first_batch + self.params['steps']}"
            parts = [
                self._epoch(self._current_epoch),
                f"batch {number}",
                _shown(logs),
                *self._pace(),
            ]
            self._say(" | ".join(parts), progress=True)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        logs = {name: float(value) for name, value in (logs or {}).items()}
        validation = {n.removeprefix("val_"): v for n, v in logs.items() if n.startswith("val_")}
        train = {name: value for name, value in logs.items() if not name.startswith("val_")}
        train = self._write_train(train, epoch=epoch + 1)
        if validation:
            self._append({"step": self.step, "epoch": epoch + 1, "run": "validation", **validation})
        self._write("validation", self.step, validation)
        self._flush()
        parts = [self._epoch(epoch), f"train {_shown(train)}"]
        parts += [f"validation {_shown(validation)}"] if validation else []
        self._say(" | ".join([*parts, *self._pace()]), final=True)

    def _write_train(self, logs: Logs | None, **epoch: int) -> dict[str, float]:
        """Writes training metrics and the learning rate to `history.jsonl` and TensorBoard.

        Returns both as a dict. The argument `epoch`, if given, is the number of the epoch, counted
        from 1, which is added to the line in `history.jsonl`.
        """
        train = exact_logs(logs)
        check_finite(train, self.step)
        train["training/learning_rate"] = self._learning_rate()
        self._append({"step": self.step, **epoch, "run": "train", **train})
        pace = {"training/tokens_per_second": self._rate} if self._rate else {}
        self._write("train", self.step, {**train, **pace})
        return train

    def _epoch(self, epoch: int) -> str:
        return f"epoch {epoch + 1} of {self.epochs or self.params['epochs']}"

    def _tokens(self, batches: int) -> float:
        return self.tokens_per_epoch * batches / (self.first_batch + self.params["steps"])

    def _pace(self) -> list[str]:
        """Returns a list of one str with the speed and the remaining time, or `[]` if unknown."""
        if not self._rate:
            return []
        done = self._tokens(self.first_batch + self._batches)
        epochs = self.epochs or self.params["epochs"]
        left = (epochs - self._current_epoch) * self.tokens_per_epoch - done
        seconds = left / max(self._rate, 1e-9)
        if self.time_limit_minutes:
            seconds = min(seconds, 60 * self.time_limit_minutes - (time.monotonic() - self._begin))
        return [f"{self._rate:,.0f} tokens/s | {clock(max(seconds, 0))} left"]


def _shown(logs: Logs | None) -> str:
    """Returns metrics as text, such as `loss 0.1200, f1 0.9000`.

    Metrics whose names contain a slash are left out.
    """
    shown = {name: float(value) for name, value in (logs or {}).items() if "/" not in name}
    return ", ".join(f"{name} {value:.4f}" for name, value in shown.items())
