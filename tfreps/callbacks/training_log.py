"""TrainingLog: figures and progress of a language model in training."""

import time

import tensorflow as tf

from tfreps.callbacks.figure_log import SECONDS_BETWEEN_LINES, FigureLog, check_finite, clock


class TrainingLog(FigureLog):
    """Writes figures for TensorBoard, `history.jsonl`, and a progress line.

    TensorBoard shows, for the runs `train` and `validation`, `perplexity/forward`,
    `perplexity/backward` and `perplexity/mean` (full softmax), and for `train`
    `training/sampled_perplexity`, `training/tokens_per_second`, `training/learning_rate` and
    `training/gradient_norm` (before clipping), over the steps.

    Args:
        folder: pathlib.Path. Where the event files and `history.jsonl` go.
        tokens_per_step: int. Tokens of one batch and direction.
        total_steps: int. Where the run ends.
        checkpoints: `Checkpoints`, for the number of the step; put it behind this one.
        every: int. Steps between two figures, each the mean of the steps in between.
        minutes: float or None. Training stops after this time.
        train_sample: data set of training text on which the full-softmax perplexity of the
            run `train` is measured after each epoch; None for none.
        histograms: bool. Whether histograms of all weights are written after each epoch.
    """

    def __init__(
        self,
        folder,
        tokens_per_step,
        total_steps,
        checkpoints,
        every=100,
        minutes=None,
        train_sample=None,
        histograms=False,
    ):
        super().__init__(folder, checkpoints)
        self.tokens_per_step, self.total_steps = tokens_per_step, total_steps
        self.every, self.minutes = every, minutes
        self.train_sample, self.histograms = train_sample, histograms
        self.begin = time.monotonic()
        self.window_step, self.window_begin = None, self.begin
        self.said, self.shown = self.begin, ""

    def on_train_begin(self, logs=None):
        if self.window_step is None:
            self.forget_later_steps()
        self.on_epoch_begin(None)

    def on_epoch_begin(self, epoch, logs=None):
        # Time spent on measuring and saving between two epochs is no training.
        self.window_step, self.window_begin = self.checkpoints.step, time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        step = self.checkpoints.step + 1
        if step % self.every == 0:
            self._close_window(step, logs)
        elif time.monotonic() - self.said > SECONDS_BETWEEN_LINES:
            self._say_pace(step, self._rate(step), progress=True)
        if self.minutes and time.monotonic() - self.begin > 60 * self.minutes:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        step = self.checkpoints.step
        logs = {name: float(value) for name, value in (logs or {}).items()}
        check_finite(logs, step)
        validation = {n.removeprefix("val_"): v for n, v in logs.items() if n.startswith("val_")}
        measured = {"validation": _perplexities(validation)}
        if self.train_sample is not None:
            results = self.model.evaluate(self.train_sample, verbose=0, return_dict=True)
            measured["train"] = _perplexities(results)
        for run, figures in measured.items():
            if not figures:  # no validation text
                continue
            self.write(run, step, figures)
            self.append({"step": step, "run": run, **figures})
        shown = [
            f"{run} {figures['perplexity/mean']:.1f}"
            for run, figures in measured.items()
            if "perplexity/mean" in figures
        ]
        if shown:
            self.say(f"step {step:,}: perplexity {', '.join(shown)}", final=True)
        if self.histograms:
            with self.writers["train"].as_default():
                for weight in self.model.trainable_variables:
                    tf.summary.histogram(f"weights/{weight.path}", weight.value, step)
        self.flush()

    def _close_window(self, step, logs):
        rate = self._rate(step)
        logs = {name: float(value) for name, value in logs.items()}
        check_finite(logs, step)
        exact = {f"training/{name}": value for name, value in logs.items()}
        exact["training/learning_rate"] = float(self.model.optimizer.learning_rate)
        self.append({"step": step, "run": "train", **exact})
        self.write("train", step, {**exact, "training/tokens_per_second": rate})
        self.model.reset_metrics()
        self.window_step, self.window_begin = step, time.monotonic()
        name, perplexity = next(
            (n.replace("_", " "), v) for n, v in logs.items() if n.endswith("perplexity")
        )
        self.shown = f"{name} {perplexity:.1f} | "
        self._say_pace(step, rate)

    def _rate(self, step):
        """Tokens per second since the window began."""
        seconds = max(time.monotonic() - self.window_begin, 1e-9)
        return (step - self.window_step) * self.tokens_per_step / seconds

    def _say_pace(self, step, rate, progress=False):
        self.said = time.monotonic()
        self.say(
            f"step {step:,} of {self.total_steps:,} | {self.shown}{rate:,.0f} tokens/s | "
            f"{clock(self._seconds_left(step, rate))} left",
            progress=progress,
        )

    def _seconds_left(self, step, rate):
        left = (self.total_steps - step) * self.tokens_per_step / rate
        if self.minutes:
            left = min(left, 60 * self.minutes - (time.monotonic() - self.begin))
        return max(left, 0)


def _perplexities(logs):
    names = {"forward_perplexity": "forward", "backward_perplexity": "backward"}
    names["perplexity"] = "mean"
    return {f"perplexity/{short}": float(logs[n]) for n, short in names.items() if n in logs}
