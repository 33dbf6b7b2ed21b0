"""fit_epochs: trains a model within a time limit, saves the best one and resumes exactly."""

import dataclasses
import logging
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import keras

from tfreps._src.callbacks.best_model import BestModel
from tfreps._src.callbacks.checkpoints import Checkpoints, TimeLimitReached
from tfreps._src.callbacks.metric_log import MetricLog
from tfreps._src.callbacks.reduce_learning_rate import ReduceLearningRate
from tfreps._src.callbacks.stop_signals import Stopped, held_back
from tfreps._src.callbacks.weight_averages import WeightAverages
from tfreps.training.loop.replica_loop import ReplicaLoop
from tfreps.training.workers.worker_runs import SHARED
from tfreps.training.workers.workers import Workers

if TYPE_CHECKING:
    from tfreps._src.runs.run_folder import RunFolder


@dataclasses.dataclass(frozen=True)
class FitPlan:
    """Length of training, and the metric that determines the best model.

    If the time limit is reached within an epoch, a checkpoint is saved and training ends; in the
    first epoch, the model is saved too.
    """

    epochs: int  # maximum number of passes over the data
    monitor: str  # metric that determines the best model, such as "val_f1"
    patience: int | None = None  # number of epochs without improvement after which training stops
    time_limit_minutes: float | None = None
    evaluate_at_time_limit: bool = False  # whether to evaluate an epoch that the time limit ended
    # Number of steps between checkpoints; one is also saved after each epoch.
    checkpoint_every: int = 500
    resume: bool = False  # whether to continue from the newest checkpoint in the run folder


def fit_epochs(
    model: keras.Model,
    batches: Any,
    validation: Any,
    run: "RunFolder",
    plan: FitPlan,
    callbacks: Sequence[keras.callbacks.Callback],
    about: str | None = None,
) -> dict[str, float]:
    """Trains a model epoch by epoch and saves the best model in the run folder.

    Each epoch is one call to `ReplicaLoop.fit_epoch`. A `BestModel` and `Checkpoints` are added to
    the callbacks.

    With `plan.resume`, a run that was interrupted at any point continues from its last checkpoint
    and ends as if it had not been interrupted: weights, optimizer, dropout seeds, running metrics,
    the position in the data and the states of the callbacks are restored. A signal that asks the
    command to stop (see `stop_signals`) ends training after the next step, and a
    checkpoint is saved.

    Before training starts, the options of the run are stored (`RunFolder.write_options`). Until
    training ends as planned, the entry `unfinished` of results.json says how far it has come.

    Args:
        model: `keras.Model`, compiled.
        batches: `tfreps.data.SequenceBatches` of training data, or another object that has
            `dataset(epoch, first_batch)` and `num_batches(epoch)`. If the epoch and the batch do
            not determine the position in the data, `state(epoch, batch)` returns the position as a
            JSON-serializable dict, and `restore(state)` restores it. If an attribute `is_own` is
            `True`, each worker reads different batches, whose rows together form the global batch.
            If there is an attribute `total_steps`, the number of steps in all epochs, results.json
            reports the progress in steps.
        validation: Validation data of the same kind. If `None`, no epoch is evaluated, and the
            model is saved after every epoch.
        run: `tfreps.runs.RunFolder`.
        plan: `FitPlan`.
        callbacks: list of Keras callbacks. One of them must be an `EpochLog` or a `TrainingLog`.
            Checkpoints contain the state of this callback and of a `ReduceLearningRate`. With a
            `WeightAverages`, the averages are evaluated and saved instead of the weights.
        about: str. End of the sentence that is printed before training starts, such as
            `": 1,000 steps"`. If `None` (the default), nothing is printed.

    Returns:
        dict with these entries:

        - `steps`: total number of steps;
        - `step`: step of the best model, if the metric was measured;
        - the name of the metric without `val_`: best value of the metric, if it was measured;
        - `epochs_without_improvement`: number of epochs since the best model, if patience is set
          and the number is not 0;
        - `learning_rate_reductions`: number of reductions by a `ReduceLearningRate`, if not 0.
    """
    training = _Training(model, batches, validation, run, plan, callbacks)
    training.restore()
    run.write_options()
    if about is not None:
        say_start(run, model, about, training.checkpoints.step)
    stopped = training.keeper.patience_exceeded()
    training.note_progress(stopped)
    while training.position.epoch < plan.epochs and not stopped:
        stopped = training.fit_epoch()
    training.workers.raise_together()  # all workers wait until worker 0 has written everything
    return training.results()


class _Training:
    """Training run of `fit_epochs`: its steps as methods, and the state that they share.

    The constructor has the arguments of `fit_epochs`.
    """

    def __init__(self, model, batches, validation, run, plan, callbacks):
        self.model, self.batches, self.validation = model, batches, validation
        self.run, self.plan, self.position = run, plan, DataPosition(batches)
        self.workers = Workers(model.distribute_strategy)
        self.loop = ReplicaLoop(model, getattr(batches, "is_own", False))
        self.log = _of_kind(callbacks, MetricLog)
        self.log._evaluate = self.loop.evaluate
        if not run.is_writer:
            self.log._print_fn = None
        self.averages = _of_kind(callbacks, WeightAverages)
        save = self.averages.save if self.averages else run.save_model
        self.keeper = BestModel(save, plan.monitor, patience=plan.patience)
        self.reduce = _of_kind(callbacks, ReduceLearningRate)
        stateful = {"log": self.log, "best_model": self.keeper, "reduce_learning_rate": self.reduce}
        self.checkpoints = Checkpoints(
            run.checkpoints_path,
            self.position.at_step,
            plan.checkpoint_every,
            {name: each for name, each in stateful.items() if each is not None},
            plan.time_limit_minutes,
            plan.evaluate_at_time_limit,
            run.is_writer,
            self.workers.any,
        )
        self.callbacks = [*callbacks, self.keeper, self.checkpoints]

    def restore(self) -> None:
        """Restores the last checkpoint on all workers if `plan.resume` is True."""
        restored = None
        if self.plan.resume:
            # Keras creates the variables of compiled metrics only at the first batch.
            if not all(getattr(metric, "built", True) for metric in self.model.metrics):
                self.loop.evaluate(self.batches.dataset(0).take(1))
            restored = self.checkpoints.restore(self.model)
        self.workers.check_same({"the step to resume": self.checkpoints.step}, SHARED)
        self.position.restore(restored, self.checkpoints.pending_metrics is not None)
        unit, done, planned = self.progress().values()
        if done > planned:
            raise ValueError(
                f"The number of {unit}s must be at least {done:,}, which the run in "
                f"{self.run.path} has already finished; got {planned:,}."
            )
        self.loop.begin()

    def fit_epoch(self) -> bool:
        """Runs the remaining steps of the epoch, and returns True if training ends after them."""
        position, checkpoints = self.position, self.checkpoints
        position.first_step = checkpoints.step - position.batch
        self.log.first_batch = position.batch
        restore_weights = self.averages and self.averages.restore_weights
        try:
            with held_back(), checkpoints.save_on_stop(restore_weights):
                self._fit_or_measure()
        except Stopped:
            if checkpoints.pending_metrics is None:
                position.go_to(position.epoch, checkpoints.step - position.first_step)
            self.note_progress(self.keeper.patience_exceeded())
            raise
        except TimeLimitReached:
            self.note_progress()
            self.log._say(
                f"The time limit was reached in epoch {position.epoch + 1} of {self.plan.epochs}. "
                "Resume the run to continue.",
                final=True,
            )
            if position.epoch == 0:  # no model has been saved yet
                self.keeper.save(self.model)
            return True
        position.go_to(position.epoch, checkpoints.step - position.first_step)
        # Not `stop_training`, which is also True if a time limit ends a run that can be resumed.
        self.note_progress(self.keeper.patience_exceeded())
        return self.model.stop_training

    def _fit_or_measure(self) -> None:
        """Runs the remaining steps of the current epoch, if any, and evaluates the epoch."""
        epoch, first_batch = self.position.epoch, self.position.batch
        data = self.validation.dataset() if self.validation else None
        if self.checkpoints.pending_metrics is not None:
            measure_epoch(self.loop, data, self.callbacks, epoch, self.checkpoints.pending_metrics)
            return
        steps = self.batches.num_batches(epoch) - first_batch
        batches = self.batches.dataset(epoch, first_batch)
        self.loop.fit_epoch(batches, steps, self.callbacks, epoch, data)

    def progress(self) -> dict[str, Any]:
        """Returns how much of the training is complete, as a dict for results.json.

        `unit` is `"step"` or `"epoch"`. `done` and `planned` are the numbers of finished and of
        planned steps or epochs.
        """
        total = getattr(self.batches, "total_steps", None)
        if total is not None:
            return {"unit": "step", "done": self.checkpoints.step, "planned": total}
        return {"unit": "epoch", "done": self.position.epoch, "planned": self.plan.epochs}

    def note_progress(self, is_done=False):
        """Writes the entry `unfinished` of results.json, or removes it if training is over."""
        before = self.run.results()
        results = {name: value for name, value in before.items() if name != "unfinished"}
        if self.position.epoch < self.plan.epochs and not is_done:
            results["unfinished"] = self.progress()
        if results == before:
            return
        try:
            self.run.write_results(results)
        except OSError as error:
            log = logging.getLogger(__name__)
            log.warning("could not write %s: %s", self.run.results_path, error)

    def results(self) -> dict[str, float]:
        """Returns the results of the training so far; `fit_epochs` describes the dict."""
        numbers = {
            "epochs_without_improvement": self.keeper.wait if self.plan.patience else 0,
            "learning_rate_reductions": self.reduce.num_reductions if self.reduce else 0,
        }
        counted = {name: number for name, number in numbers.items() if number}
        return {**self.keeper.best, **counted, "steps": self.checkpoints.step}


class DataPosition:
    """Position of training in the data: an epoch and the number of its finished batches."""

    def __init__(self, batches):
        self.batches = batches
        self.epoch = self.batch = self.first_step = 0

    def at_step(self, step: int) -> dict[str, Any]:
        """Returns the position after `step` steps of the run, as a dict for a checkpoint.

        `epoch` is the number of the epoch, from 0, and `batch` is the number of finished batches in
        this epoch. `data` is the result of `batches.state`, if `batches` has this method.
        """
        found = {"epoch": self.epoch, "batch": step - self.first_step}
        if hasattr(self.batches, "state"):
            found["data"] = self.batches.state(**found)
        return found

    def restore(self, position: Mapping[str, Any] | None, is_pending: bool) -> None:
        """Restores a position that `at_step` returned; does nothing if `position` is `None`.

        If all batches of the restored epoch are finished, the position becomes the start of the
        next epoch. It stays at the end of the restored epoch if `is_pending` is True, which means
        that this epoch has not been evaluated yet.
        """
        if position is None:
            return
        self.epoch, self.batch = position["epoch"], position["batch"]
        if "data" in position:
            self.batches.restore(position["data"])
        if not is_pending:
            self.go_to(self.epoch, self.batch)

    def go_to(self, epoch: int, batch: int) -> None:
        """Sets the position to a batch, or to the next epoch if `batch` is past the last one."""
        is_over = batch >= self.batches.num_batches(epoch)
        self.epoch, self.batch = (epoch + 1, 0) if is_over else (epoch, batch)


def measure_epoch(loop, validation, callbacks, epoch, metrics):
    """Evaluates an epoch whose steps are complete, as `model.fit` does after the last step.

    `metrics` are the training metrics of the epoch, as in `Checkpoints.pending_metrics`.
    """
    model = loop.model
    called = keras.callbacks.CallbackList(callbacks, model=model, epochs=epoch + 1, steps=0)
    model.stop_training, metrics = False, dict(metrics)
    called.on_train_begin()
    called.on_epoch_begin(epoch)
    if validation is not None:
        measured = loop.evaluate(validation, called)
        metrics |= {f"val_{name}": value for name, value in measured.items()}
    called.on_epoch_end(epoch, metrics)
    called.on_train_end(metrics)


def _of_kind(callbacks, kind):
    """Returns the first callback that is an instance of the class `kind`, or `None`."""
    return next((each for each in callbacks if isinstance(each, kind)), None)


def say_start(run, model, about, step=0):
    """Prints the number of parameters, the run folder, and a command that shows the progress.

    `about` is the end of the printed sentence, such as `": 1,000 steps"`. `step` is the number of
    steps that a resumed run has done, or 0 for a new run.
    """
    total = model.count_params()
    trained = sum(math.prod(weight.shape) for weight in model.trainable_weights)
    parameters = f"{trained:,} of {total:,}" if trained < total else f"{total:,}"
    verb, where = ("Resuming", f" after step {step:,}") if step else ("Training", "")
    print(
        f"{verb} {parameters} parameters in {run.path}{where}{about}.\n"
        f"Watch it with: tensorboard --logdir {run.logs_path}"
    )
