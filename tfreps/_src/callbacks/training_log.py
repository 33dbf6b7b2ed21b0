"""TrainingLog: metrics and progress of a language model, as means over steps."""

import os
import time
from typing import Any

import tensorflow as tf

from tfreps._src.callbacks.metric_log import (
    SECONDS_BETWEEN_LINES,
    MetricLog,
    PrintFn,
    check_finite,
    clock,
)
from tfreps._src.callbacks.step_logs import Logs, exact_logs


class TrainingLog(MetricLog):
    """Callback that logs metrics to TensorBoard and `history.jsonl` and shows a progress line.

    Training metrics are logged every `update_freq` steps, and evaluation metrics after each epoch.

    TensorBoard shows `perplexity/forward`, `perplexity/backward` and `perplexity/mean` (full
    softmax) for the runs `train` and `validation`, and `training/sampled_perplexity`,
    `training/tokens_per_second`, `training/learning_rate` and `training/gradient_norm` (before
    clipping) for `train`. Other metrics of training steps get the prefix `training/`, and other
    metrics of evaluations keep their names.

    The metrics of the model are reset after each log entry of training steps, so the metrics that
    `fit` reports after an epoch cover only the last steps. For a model that is trained by epochs,
    use `EpochLog`.

    Args:
        folder: str or path-like. Folder for the event files and `history.jsonl`.
        tokens_per_step: int. Number of tokens per batch and direction.
        total_steps: int. Number of steps of the run.
        update_freq: int. Number of steps between two log entries; each entry contains the means
            over these steps. Defaults to 100.
        time_limit_minutes: float. Time limit of the run in minutes, which is used only to estimate
            the remaining time. If `None` (the default), there is no limit.
        train_sample: `tf.data.Dataset` of training text on which the full-softmax perplexity of the
            run `train` is measured after each epoch. If `None` (the default), it is not measured.
        histograms: bool. Whether to write histograms of all trainable weights after each epoch.
            Defaults to `False`.
        print_fn: Callable that shows a line of progress, called as
            `print_fn(text, final=bool, progress=bool)`. The next line may replace a line that is
            not `final`, and a line with `progress` is of interest only while training runs. If
            `None` (the default), nothing is shown.

    Raises:
        ValueError: During `fit`, if the training loss or perplexity is no longer finite.

    Example:
    >>> import json, keras, numpy as np, pathlib, tempfile
    >>> model = keras.Sequential([keras.layers.Dense(1)])
    >>> model.compile(keras.optimizers.SGD(0.1), "mse")
    >>> x, folder = np.zeros([12, 2]), tempfile.mkdtemp()
    >>> log = TrainingLog(folder, tokens_per_step=4, total_steps=6, update_freq=2)
    >>> _ = model.fit(x, x[:, :1], batch_size=4, epochs=2, callbacks=[log], verbose=0)
    >>> lines = pathlib.Path(folder, "history.jsonl").read_text().splitlines()
    >>> [json.loads(line)["step"] for line in lines if "training/loss" in line]
    [2, 4, 6]
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        tokens_per_step: int,
        total_steps: int,
        update_freq: int = 100,
        time_limit_minutes: float | None = None,
        train_sample: "tf.data.Dataset[Any] | None" = None,
        histograms: bool = False,
        print_fn: PrintFn | None = None,
    ) -> None:
        super().__init__(folder, print_fn)
        self.tokens_per_step: int = tokens_per_step
        self.total_steps: int = total_steps
        self.update_freq: int = update_freq
        self.time_limit_minutes: float | None = time_limit_minutes
        self.train_sample: tf.data.Dataset[Any] | None = train_sample
        self.histograms: bool = histograms
        self._begin = time.monotonic()
        self._window_step: int | None = None
        self._window_begin = self._begin
        self._said, self._shown = self._begin, ""

    def on_train_begin(self, logs: Logs | None = None) -> None:
        if self._window_step is None:
            self._forget_later_steps()
        self._open_window()

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        # Time spent on evaluation and saving between two epochs does not count as training.
        self._open_window()

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        if self.step % self.update_freq == 0:
            self._close_window(self.step, logs or {})
        elif time.monotonic() - self._said > SECONDS_BETWEEN_LINES:
            self._say_pace(self.step, self._rate(self.step), progress=True)

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        step = self.step
        logs = {name: float(value) for name, value in (logs or {}).items()}
        check_finite(logs, step)
        validation = {n.removeprefix("val_"): v for n, v in logs.items() if n.startswith("val_")}
        measured = {"validation": _as_shown(validation)}
        if self.train_sample is not None:
            results = self._evaluate(self.train_sample)
            measured["train"] = _as_shown(results)
        for run, metrics in measured.items():
            if not metrics:  # there is no validation text
                continue
            self._write(run, step, metrics)
            self._append({"step": step, "run": run, **metrics})
        shown = [
            f"{run} {metrics['perplexity/mean']:.1f}"
            for run, metrics in measured.items()
            if "perplexity/mean" in metrics
        ]
        if shown:
            self._say(f"step {step:,}: perplexity {', '.join(shown)}", final=True)
        if self.histograms:
            with self._writers["train"].as_default():
                for weight in self.model.trainable_variables:
                    tf.summary.histogram(f"weights/{weight.path}", weight.value, step)
        self._flush()

    def _open_window(self) -> None:
        self._window_step, self._window_begin = self.step, time.monotonic()

    def _close_window(self, step: int, logs: Logs) -> None:
        rate = self._rate(step)
        logs = exact_logs(logs)
        check_finite(logs, step)
        exact = {f"training/{name}": value for name, value in logs.items()}
        exact["training/learning_rate"] = self._learning_rate()
        self._append({"step": step, "run": "train", **exact})
        self._write("train", step, {**exact, "training/tokens_per_second": rate})
        self.model.reset_metrics()
        self._open_window()
        perplexities = [(n, v) for n, v in logs.items() if n.endswith("perplexity")]
        for name, value in perplexities[:1]:
            self._shown = f"{name.replace('_', ' ')} {value:.1f} | "
        self._say_pace(step, rate)

    def _rate(self, step: int) -> float:
        """Returns the tokens per second since the last log entry or the start of the epoch."""
        seconds = max(time.monotonic() - self._window_begin, 1e-9)
        return (step - (self._window_step or 0)) * self.tokens_per_step / seconds

    def _say_pace(self, step: int, rate: float, progress: bool = False) -> None:
        self._said = time.monotonic()
        self._say(
            f"step {step:,} of {self.total_steps:,} | {self._shown}{rate:,.0f} tokens/s | "
            f"{clock(self._seconds_left(step, rate))} left",
            progress=progress,
        )

    def _seconds_left(self, step: int, rate: float) -> float:
        left = (self.total_steps - step) * self.tokens_per_step / rate
        if self.time_limit_minutes:
            left = min(left, 60 * self.time_limit_minutes - (time.monotonic() - self._begin))
        return max(left, 0)


def _as_shown(logs: Logs) -> dict[str, float]:
    """Returns evaluation metrics under their names in TensorBoard, such as `perplexity/mean`."""
    names = {
        "forward_perplexity": "perplexity/forward",
        "backward_perplexity": "perplexity/backward",
        "perplexity": "perplexity/mean",
    }
    return {names.get(name, name): float(value) for name, value in logs.items()}
