"""Callbacks of a training run: figures for TensorBoard, a progress line, checkpoints."""

import json
import math
import os
import sys
import time

import keras
import tensorflow as tf

from tfreps.checkpoint import load_latest_checkpoint, save_checkpoint


class Checkpoints(keras.callbacks.Callback):
    """Saves everything that an exact resumption needs, and restores it.

    Weights, optimiser, seeds of dropout and negatives, carried LSTM state, running metrics,
    the position in the data and the number of the step, in one file that is written whole or
    not at all. Keras's own weights files hold neither seeds nor metrics nor the position. The model
    has to have all its variables once it is compiled.

    Args:
        folder: where checkpoints lie.
        position: function from the number of a step to the JSON-able position in the data.
        every: int. Steps between checkpoints; there is one at the end of each epoch too.
        extra: dict of whatever else shall be kept, of JSON types; updated in place.

    Attributes:
        step: int. Steps done since the very beginning of the run.
    """

    def __init__(self, folder, position, every=1000, extra=None):
        super().__init__()
        self.folder, self.position, self.every = folder, position, every
        self.extra = {} if extra is None else extra
        self.step, self.metrics_to_restore = 0, None

    def restore(self, model):
        """Restores the newest checkpoint into a compiled model.

        Returns:
            The position in the data; None where there is no checkpoint.

        Raises:
            ValueError: for a checkpoint of another model.
        """
        found = load_latest_checkpoint(self.folder)
        if found is None:
            return None
        self.step, arrays, state = found
        model.optimizer.build(model.trainable_variables)
        variables = _variables(model)
        if set(variables) != set(arrays):
            odd = sorted(set(variables) ^ set(arrays))
            raise ValueError(
                f"The checkpoint in {self.folder} belongs to another model or optimiser: "
                f"{len(odd)} arrays are only here or only there, the first {odd[0]}."
            )
        for name, variable in variables.items():
            if tuple(variable.shape) != arrays[name].shape:
                raise ValueError(
                    f"The checkpoint in {self.folder} belongs to another model: {name} has "
                    f"shape {arrays[name].shape}, expected {tuple(variable.shape)}."
                )
            variable.assign(arrays[name])
        if state["in_epoch"]:
            self.metrics_to_restore = [v.numpy() for v in model.metrics_variables]
        self.extra.update(state["extra"])
        return state["position"]

    def save(self, in_epoch):
        """Saves a checkpoint of this moment, within an epoch or at its end."""
        arrays = {name: variable.numpy() for name, variable in _variables(self.model).items()}
        position = self.position(self.step)
        state = {"position": position, "extra": self.extra, "in_epoch": in_epoch}
        try:
            save_checkpoint(self.folder, self.step, arrays, state)
        except OSError as error:  # the last good one is still there: go on
            print(f"\nwarning: no checkpoint at step {self.step}: {error}", file=sys.stderr)

    def on_epoch_begin(self, epoch, logs=None):
        if self.metrics_to_restore is not None:  # Keras has just reset them
            for variable, value in zip(
                self.model.metrics_variables, self.metrics_to_restore, strict=True
            ):
                variable.assign(value)
            self.metrics_to_restore = None

    def on_train_batch_end(self, batch, logs=None):
        self.step += 1
        is_last = batch + 1 == self.params["steps"]  # then the end of the epoch saves
        if self.step % self.every == 0 and not is_last:
            self.save(in_epoch=True)

    def on_epoch_end(self, epoch, logs=None):
        self.save(in_epoch=False)


class BestModel(keras.callbacks.Callback):
    """Keeps the model with the lowest validation perplexity; without validation, the newest.

    Args:
        save: function that saves a model, whole or not at all.
        best: dict with `perplexity` and `step` of the best so far; updated in place.
        checkpoints: `Checkpoints`, for the number of the step.
    """

    def __init__(self, save, best, checkpoints):
        super().__init__()
        self.save, self.best, self.checkpoints = save, best, checkpoints

    def on_epoch_end(self, epoch, logs=None):
        figures = {}
        if "val_perplexity" in (logs or {}):
            figures = {"perplexity": float(logs["val_perplexity"]), "step": self.checkpoints.step}
            if not figures["perplexity"] < self.best.get("perplexity", math.inf):
                return
        try:
            self.save(self.model)
        except OSError as error:  # the best model so far is still there: go on
            print(f"\nwarning: the model was not saved: {error}", file=sys.stderr)
            return
        self.best.update(figures)


class TrainingLog(keras.callbacks.Callback):
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
        super().__init__()
        self.folder, self.tokens_per_step, self.total_steps = folder, tokens_per_step, total_steps
        self.checkpoints, self.every, self.minutes = checkpoints, every, minutes
        self.train_sample, self.histograms = train_sample, histograms
        self.history_path = folder / "history.jsonl"
        self.writers = {
            name: tf.summary.create_file_writer(str(folder / name))
            for name in ("train", "validation")
        }
        self.begin = time.monotonic()
        self.window_step, self.window_begin = None, self.begin

    def on_train_begin(self, logs=None):
        if self.window_step is None:
            _keep_up_to(self.history_path, self.checkpoints.step)
        self.on_epoch_begin(None)

    def on_epoch_begin(self, epoch, logs=None):
        # Time spent on measuring and saving between two epochs is no training.
        self.window_step, self.window_begin = self.checkpoints.step, time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        step = self.checkpoints.step + 1
        if step % self.every == 0:
            self._close_window(step, logs)
        if self.minutes and time.monotonic() - self.begin > 60 * self.minutes:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        step = self.checkpoints.step
        logs = {name: float(value) for name, value in (logs or {}).items()}
        _check_finite(logs, step)
        validation = {n.removeprefix("val_"): v for n, v in logs.items() if n.startswith("val_")}
        measured = {"validation": _perplexities(validation)}
        if self.train_sample is not None:
            results = self.model.evaluate(self.train_sample, verbose=0, return_dict=True)
            measured["train"] = _perplexities(results)
        for run, figures in measured.items():
            if not figures:  # no validation text
                continue
            self._write(run, step, figures)
            self._append({"step": step, "run": run, **figures})
        shown = [
            f"{run} {figures['perplexity/mean']:.1f}"
            for run, figures in measured.items()
            if "perplexity/mean" in figures
        ]
        if shown:
            self._say(f"step {step:,}: perplexity {', '.join(shown)}", final=True)
        if self.histograms:
            with self.writers["train"].as_default():
                for weight in self.model.trainable_variables:
                    tf.summary.histogram(f"weights/{weight.path}", weight.value, step)
        for writer in self.writers.values():
            writer.flush()

    def _close_window(self, step, logs):
        seconds = max(time.monotonic() - self.window_begin, 1e-9)
        rate = (step - self.window_step) * self.tokens_per_step / seconds
        logs = {name: float(value) for name, value in logs.items()}
        _check_finite(logs, step)
        exact = {f"training/{name}": value for name, value in logs.items()}
        exact["training/learning_rate"] = float(self.model.optimizer.learning_rate)
        self._append({"step": step, "run": "train", **exact})
        self._write("train", step, {**exact, "training/tokens_per_second": rate})
        self.model.reset_metrics()
        self.window_step, self.window_begin = step, time.monotonic()
        name, perplexity = next(
            (n.replace("_", " "), v) for n, v in logs.items() if n.endswith("perplexity")
        )
        self._say(
            f"step {step:,} of {self.total_steps:,} | {name} {perplexity:.1f} | "
            f"{rate:,.0f} tokens/s | {_clock(self._seconds_left(step, rate))} left"
        )

    def _seconds_left(self, step, rate):
        left = (self.total_steps - step) * self.tokens_per_step / rate
        if self.minutes:
            left = min(left, 60 * self.minutes - (time.monotonic() - self.begin))
        return max(left, 0)

    def _write(self, run, step, figures):
        with self.writers[run].as_default():
            for name, value in figures.items():
                tf.summary.scalar(name, value, step)

    def _append(self, figures):
        with open(self.history_path, "a", encoding="utf-8") as file:
            file.write(json.dumps(figures) + "\n")

    def _say(self, text, final=False):
        if sys.stderr.isatty():
            end = "\n" if final else ""
            print(f"\r\033[K{text}", end=end, file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


def _variables(model):
    """All variables of a model, its metrics and its optimiser by a name of their own.

    Without the names of their layers, some of which Keras counts up through the process.
    """
    groups = {
        "model": model.variables,
        "metrics": model.metrics_variables,
        "optimizer": model.optimizer.variables,
    }
    return {
        f"{group}/{number}/{variable.name}": variable
        for group, variables in groups.items()
        for number, variable in enumerate(variables)
    }


def _check_finite(logs, step):
    """Ends a run that has diverged, before a checkpoint or a model of it is saved."""
    for name, value in logs.items():
        if name.endswith("perplexity") and not name.startswith("val_") and not math.isfinite(value):
            raise ValueError(
                f"Training has diverged: at step {step} the {name.replace('_', ' ')} is {value}. "
                "Lower --learning-rate; --resume goes on from the last checkpoint."
            )


def _perplexities(logs):
    names = {"forward_perplexity": "forward", "backward_perplexity": "backward"}
    names["perplexity"] = "mean"
    return {f"perplexity/{short}": float(logs[n]) for n, short in names.items() if n in logs}


def _keep_up_to(path, step):
    """Drops the lines of steps that will be done again."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    kept = [line for line in whole if json.loads(line)["step"] <= step]
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text("".join(kept), encoding="utf-8")
    os.replace(temporary, path)


def _clock(seconds):
    hours, rest = divmod(int(seconds), 3600)
    minutes, seconds = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}" if hours else f"{minutes}:{seconds:02d}"
