"""fit_epochs: trains a model within a time limit, saves the best one and resumes exactly."""

import logging

import keras

from tfreps.callbacks import (
    BestModel,
    Checkpoints,
    EpochLog,
    OutOfTime,
    RateCuts,
    WeightAverages,
)
from tfreps.callbacks.stop_signals import Stopped, held_back
from tfreps.distribute.replica_loop import FitLoop, ReplicaLoop
from tfreps.distribute.worker_runs import SHARED
from tfreps.distribute.workers import Workers


def fit_epochs(
    model,
    batches,
    validation,
    run,
    epochs,
    monitor,
    mode="auto",
    patience=None,
    minutes=None,
    measure_when_over=False,
    checkpoint_every=500,
    resume=False,
    log=None,
    log_every=None,
    rate_factor=None,
    plateau_decay=1.0,
    average=False,
    say=None,
    begun=None,
):
    """Trains a model epoch by epoch and saves the best model in the run folder.

    Each epoch is one call to `model.fit` on one device, or to `ReplicaLoop.fit_epoch` on several
    replicas.

    With `resume`, a run that was interrupted at any point continues from its last checkpoint and
    ends as if it had not been interrupted: weights, optimizer, dropout seeds, running metrics, the
    position in the data and the number of epochs without improvement are restored. A signal that
    asks the program to stop (see `tfreps.callbacks.stop_signals`) ends training after the next
    step, and a checkpoint is saved.

    Before training starts, the options of the run are stored (`RunFolder.write_options`). Until
    training ends as planned, the entry `unfinished` of results.json says how far it has come.

    Args:
        model: `keras.Model`, compiled.
        batches: `tfreps.data.SequenceBatches` of training data, or another object that has
            `dataset(epoch, first_batch)` and `num_batches(epoch)`, and `num_tokens` unless `log` is
            given. If the epoch and the batch do not determine the position in the data,
            `state(epoch, batch)` must return the position as a JSON-serializable dict, and
            `restore(state)` must restore it. If `is_own` exists and is `True`, the batches of each
            worker have only its own rows. If `total_steps` exists, it is the number of steps in all
            epochs, and results.json reports the progress in steps instead of epochs.
        validation: Validation data of the same kind. If `None`, no epoch is evaluated, and the
            model is saved after every epoch.
        run: `tfreps.runs.run_folder.RunFolder`.
        epochs: int. Maximum number of passes over the data.
        monitor: str. Name of the metric that determines the best model, such as `"val_f1"`.
        mode: str. `"min"` if smaller values of the metric are better, `"max"` if larger values are
            better, or `"auto"` to infer the mode from the name of the metric. Defaults to `"auto"`.
        patience: int. Number of epochs without improvement after which training stops. If `None`
            (the default), training does not stop early.
        minutes: float. Time limit of training in minutes. If it is reached within an epoch, a
            checkpoint is saved and training ends; if this is the first epoch, the model is saved
            too. If `None` (the default), there is no limit.
        measure_when_over: bool. Whether to evaluate the model if the limit is reached within an
            epoch, as at the end of an epoch. Defaults to `False`.
        checkpoint_every: int. Number of steps between checkpoints. A checkpoint is also saved after
            each epoch. Defaults to 500.
        resume: bool. Whether to continue from the newest checkpoint in the folder.
            Defaults to `False`.
        log: `MetricLog`, such as a `TrainingLog`. Callback that logs the metrics. If `None` (the
            default), an `EpochLog` is used.
        log_every: int. Number of steps between the points at which the `EpochLog` logs the metrics
            within an epoch. If `None` (the default), it logs them only at the end of an epoch. It
            has no effect if `log` is given.
        rate_factor: `tf.Variable`. The factor of a `tfreps.optimizers.CutRate`. If `None` (the
            default), the learning rate is not reduced.
        plateau_decay: float. Value by which `rate_factor` is multiplied after each epoch without
            improvement. Defaults to 1.0.
        average: bool. Whether to evaluate and save the model with moving averages of its weights,
            which a `GroupedOptimizer` computes (see `WeightAverages`). Defaults to `False`.
        say: function that shows a line of progress, called as
            `say(text, final=bool, progress=bool)`; see `MetricLog.say`. If `None` (the default),
            nothing is shown. It has no effect if `log` is given.
        begun: function that is called before training starts, with the number of steps of the
            resumed run, or with 0 for a new run. If `None` (the default), no function is called.

    Returns:
        dict with `steps`, the total number of steps. If the metric was measured, the dict also has
        its best value, under its name without `val_`, and `step`, the step at which this value was
        reached. If they are not 0, the dict also has `waited`, the number of epochs without
        improvement (only if `patience` is given), and `cuts`, the number of reductions of the
        learning rate.

    Raises:
        Stopped: If a signal was received.
        ValueError: If `mode` is unknown, or is `"auto"` and cannot be inferred from `monitor`; if
            training diverges; if the checkpoint belongs to a different model, optimizer, metrics or
            callbacks; if the run to resume has already finished more than `epochs` epochs (or
            `batches.total_steps` steps); or if the workers find checkpoints of different steps.
    """
    if log is None:
        every = {"minutes": minutes, "every": log_every}
        log = EpochLog(run.logs_path, epochs, batches.num_tokens, **every, say=say)
    averages = WeightAverages(run.save_model) if average else None
    keeper = BestModel(averages.save if average else run.save_model, monitor, mode, patience)
    stateful = {"log": log, "best_model": keeper}
    if rate_factor is not None:
        stateful["rate_cuts"] = RateCuts(rate_factor, plateau_decay, monitor, mode)
    place = Place(batches)
    workers = Workers(model.distribute_strategy)
    checkpoints = Checkpoints(
        run.checkpoints_path,
        place.position,
        checkpoint_every,
        stateful,
        minutes,
        measure_when_over,
        run.writes,
        workers.any,
    )
    if model.distribute_strategy.num_replicas_in_sync == 1:
        loop = FitLoop(model)
    else:
        loop = ReplicaLoop(model, getattr(batches, "is_own", False))
    log.evaluate = loop.evaluate
    if not run.writes:
        log.show = None
    callbacks = [*stateful.values(), *([averages] if average else []), checkpoints]
    position = None
    if resume:
        make_metric_variables(model, loop, batches)
        position = checkpoints.restore(model)
    workers.check_same({"the step to resume": checkpoints.step}, SHARED)
    place.restore(position, checkpoints.unmeasured is not None)
    check_longer(run, progress(place, epochs, checkpoints.step))
    loop.begin()
    run.write_options()
    if begun is not None:
        begun(checkpoints.step)
    stopped = keeper.has_waited_enough()
    note_progress(run, place, epochs, checkpoints.step, stopped)
    while place.epoch < epochs and not stopped:
        place.first_step, log.first_batch = checkpoints.step - place.batch, place.batch
        try:
            with held_back(), checkpoints.kept_when_stopped(averages and averages.put_back):
                if checkpoints.unmeasured is None:
                    fit_epoch(loop, batches, validation, callbacks, place.epoch, place.batch)
                else:
                    data = validation.dataset() if validation else None
                    measure_epoch(loop, data, callbacks, place.epoch, checkpoints.unmeasured)
        except Stopped:
            if checkpoints.unmeasured is None:
                place.go_to(place.epoch, checkpoints.step - place.first_step)
            note_progress(run, place, epochs, checkpoints.step, keeper.has_waited_enough())
            raise
        except OutOfTime:
            note_progress(run, place, epochs, checkpoints.step)
            log.say(
                f"The time limit was reached in epoch {place.epoch + 1} of {epochs}. Resume the "
                "run to continue.",
                final=True,
            )
            if place.epoch == 0:  # there is no earlier model to keep
                keeper.save(model)
            break
        stopped = model.stop_training
        place.go_to(place.epoch, checkpoints.step - place.first_step)
        # Unlike `stopped`, patience does not depend on the time limit.
        note_progress(run, place, epochs, checkpoints.step, keeper.has_waited_enough())
    workers.raise_together()  # wait until worker 0 has written everything
    waited = {"waited": keeper.waited} if patience and keeper.waited else {}
    cuts = getattr(stateful.get("rate_cuts"), "cuts", 0)
    return {**keeper.best, **waited, **({"cuts": cuts} if cuts else {}), "steps": checkpoints.step}


class Place:
    """Position of training in the data: an epoch and the number of its finished batches.

    Args:
        batches: Training data, as described in `fit_epochs`.
    """

    def __init__(self, batches):
        self.batches = batches
        self.epoch = self.batch = self.first_step = 0

    def position(self, step):
        """Returns the position after a number of steps, for a checkpoint."""
        found = {"epoch": self.epoch, "batch": step - self.first_step}
        if hasattr(self.batches, "state"):
            found["data"] = self.batches.state(**found)
        return found

    def restore(self, position, is_unmeasured):
        """Restores a position.

        Args:
            position: dict that `position` returned. If `None`, nothing is restored.
            is_unmeasured: bool. Whether the epoch of the position is complete but still has to be
                evaluated. If `False` and the epoch is complete, the next epoch begins.
        """
        if position is None:
            return
        self.epoch, self.batch = position["epoch"], position["batch"]
        if "data" in position:
            self.batches.restore(position["data"])
        if not is_unmeasured:
            self.go_to(self.epoch, self.batch)

    def go_to(self, epoch, batch):
        """Goes to a batch of an epoch, or to the next epoch if the batch is past the last one."""
        is_over = batch >= self.batches.num_batches(epoch)
        self.epoch, self.batch = (epoch + 1, 0) if is_over else (epoch, batch)


def make_metric_variables(model, loop, batches):
    """Creates the variables of compiled metrics, which Keras only creates at the first batch."""
    if not all(getattr(metric, "built", True) for metric in model.metrics):
        loop.evaluate(batches.dataset(0).take(1))


def fit_epoch(loop, batches, validation, callbacks, epoch, first_batch=0):
    """Runs one epoch, or the rest of one."""
    steps = batches.num_batches(epoch) - first_batch
    data = validation.dataset() if validation else None
    loop.fit_epoch(batches.dataset(epoch, first_batch), steps, callbacks, epoch, data)


def measure_epoch(loop, validation, callbacks, epoch, metrics):
    """Evaluates an epoch whose steps are complete, as `model.fit` does after the last step.

    Args:
        loop: `ReplicaLoop` or `FitLoop`.
        validation: `tf.data.Dataset` to evaluate on. If `None`, nothing is evaluated.
        callbacks: list of Keras callbacks.
        epoch: int. Number of the epoch, from 0.
        metrics: dict of str to float. Training metrics of the epoch, as in
            `Checkpoints.unmeasured`.
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


def progress(place, epochs, step):
    """Returns how far training has come, as described in `note_progress`."""
    total = getattr(place.batches, "total_steps", None)
    if total is not None:
        return {"unit": "step", "done": step, "planned": total}
    return {"unit": "epoch", "done": place.epoch, "planned": epochs}


def check_longer(run, found):
    """Raises ValueError if a run has more finished epochs or steps than planned."""
    if found["done"] > found["planned"]:
        raise ValueError(
            f"The number of {found['unit']}s must be at least {found['done']:,}, which the run in "
            f"{run.path} has already finished; got {found['planned']:,}."
        )


def note_progress(run, place, epochs, step, is_enough=False):
    """Writes the entry `unfinished` of results.json, or removes it if training is over.

    The entry says how far training has come, in steps if the data have `total_steps`, and in epochs
    otherwise. If the file cannot be written, a warning is logged.

    Args:
        run: `tfreps.runs.run_folder.RunFolder`.
        place: `Place` of the next batch.
        epochs: int. Maximum number of epochs.
        step: int. Number of steps so far.
        is_enough: bool. Whether training ends before the last epoch because the metric no longer
            improves. Defaults to `False`.
    """
    before = run.results()
    results = {name: value for name, value in before.items() if name != "unfinished"}
    if place.epoch < epochs and not is_enough:
        results["unfinished"] = progress(place, epochs, step)
    if results == before:
        return
    try:
        run.write_results(results)
    except OSError as error:
        logging.getLogger(__name__).warning("could not write %s: %s", run.results_path, error)
