"""The epoch loop: trains epoch by epoch, keeps the best model, stops in time, resumes exactly."""

import keras

from tfreps.callbacks import (
    BestModel,
    Checkpoints,
    EpochLog,
    OutOfTime,
    RateCuts,
    WeightAverages,
)
from tfreps.callbacks.stop_signals import held_back


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
    """Trains with `model.fit`, one call an epoch, and keeps the best model in the run folder.

    A run that was killed anywhere goes on from its last checkpoint with `resume`, and ends as it
    would have ended: weights, optimizer, dropout seeds, running metrics, the place in the data
    and the wait for a better metric all come back. A signal that asks the program to stop
    (`tfreps.callbacks.stop_signals`) ends it after the next step, with a checkpoint.

    Args:
        model: compiled Keras model.
        batches: `tfreps.data.SequenceBatches` to train on, or anything with its
            `dataset(epoch, first_batch)` and `num_batches(epoch)`; `num_tokens`, unless `log` is
            given. Where epoch and batch do not lead back to a place in the data, `state(epoch,
            batch)` gives a position of JSON types, and `restore(state)` goes there.
        validation: the same, to measure on after each epoch. If None, nothing is measured and the
            newest model is kept.
        run: `tfreps.runs.run_folder.RunFolder`.
        epochs: int. Passes over the data at most.
        monitor: str. The metric by which a model is better, as `"val_f1"`.
        mode: str. `"min"`, `"max"` or `"auto"`, as in Keras.
        patience: int or None. Training ends after so many epochs without a better value.
        minutes: float or None. Training ends after this time, within an epoch too. What it has
            learned in that epoch is kept for resuming; in the first one it is the model as well.
        measure_when_over: bool. Whether an epoch that the time ends is measured, as any other.
        checkpoint_every: int. Steps between checkpoints; there is one after each epoch too.
        resume: bool. Whether to go on from the newest checkpoint in the folder.
        log: callback that writes the metrics, with `step` and its state, as `TrainingLog`; None
            for an `EpochLog`.
        log_every: int or None. Steps between points of that within an epoch.
        rate_factor: `tf.Variable`, the factor of a `tfreps.optimizers.CutRate`.
        plateau_decay: float. What it is multiplied by after an epoch without a better value.
        average: bool. Whether the model is measured and kept with the moving averages that the
            parts of its optimizer, a `GroupedOptimizer`, take (see `WeightAverages`).
        say: function that shows a line of progress, as of `EpochLog`; None to show nothing.
        begun: function that is called with the number of steps done before, once that is known.

    Returns:
        dict with the best value under the metric's name without `val_`, its `step`, and `steps`,
        the number of all updates; `waited`, epochs without a better value, and `cuts` of the rate,
        where there are any.

    Raises:
        Stopped: a signal came.
        ValueError: training has diverged, or the checkpoint is another model's.
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
    checkpoints = Checkpoints(
        run.checkpoints_path, place.position, checkpoint_every, stateful, minutes, measure_when_over
    )
    callbacks = [*stateful.values(), *([averages] if average else []), checkpoints]
    if resume:
        make_metric_variables(model, batches)
        place.restore(checkpoints.restore(model), checkpoints.unmeasured is not None)
    if begun is not None:
        begun(checkpoints.step)
    stopped = keeper.has_waited_enough()
    while place.epoch < epochs and not stopped:
        place.first_step, log.first_batch = checkpoints.step - place.batch, place.batch
        try:
            with held_back(), checkpoints.kept_when_stopped(averages and averages.put_back):
                if checkpoints.unmeasured is None:
                    fit_epoch(model, batches, validation, callbacks, place.epoch, place.batch)
                else:
                    data = validation.dataset() if validation else None
                    measure_epoch(model, data, callbacks, place.epoch, checkpoints.unmeasured)
        except OutOfTime:
            log.say(
                f"Time is over in epoch {place.epoch + 1} of {epochs}: resume the run to continue.",
                final=True,
            )
            if place.epoch == 0:  # there is no better one
                keeper.save(model)
            break
        stopped = model.stop_training
        place.go_to(place.epoch, checkpoints.step - place.first_step)
    waited = {"waited": keeper.waited} if patience and keeper.waited else {}
    cuts = getattr(stateful.get("rate_cuts"), "cuts", 0)
    return {**keeper.best, **waited, **({"cuts": cuts} if cuts else {}), "steps": checkpoints.step}


class Place:
    """Where training is in the data: an epoch, and the batches of it that are done.

    Args:
        batches: as of `fit_epochs`.
    """

    def __init__(self, batches):
        self.batches = batches
        self.epoch = self.batch = self.first_step = 0

    def position(self, step):
        """What a checkpoint holds of the place after a number of steps."""
        found = {"epoch": self.epoch, "batch": step - self.first_step}
        if hasattr(self.batches, "state"):
            found["data"] = self.batches.state(**found)
        return found

    def restore(self, position, is_unmeasured):
        """Goes to a position; an epoch that is done is over unless it is to be measured."""
        if position is None:
            return
        self.epoch, self.batch = position["epoch"], position["batch"]
        if "data" in position:
            self.batches.restore(position["data"])
        if not is_unmeasured:
            self.go_to(self.epoch, self.batch)

    def go_to(self, epoch, batch):
        """Goes to a batch of an epoch; after its last one, to the next epoch."""
        is_over = batch >= self.batches.num_batches(epoch)
        self.epoch, self.batch = (epoch + 1, 0) if is_over else (epoch, batch)


def make_metric_variables(model, batches):
    """Makes the variables of compiled metrics, which Keras does at the first batch only."""
    if not all(getattr(metric, "built", True) for metric in model.metrics):
        model.evaluate(batches.dataset(0).take(1), verbose=0)


def fit_epoch(model, batches, validation, callbacks, epoch, first_batch=0):
    """One epoch of `model.fit`, or what is left of it."""
    model.fit(
        batches.dataset(epoch, first_batch),
        steps_per_epoch=batches.num_batches(epoch) - first_batch,
        initial_epoch=epoch,
        epochs=epoch + 1,
        validation_data=validation.dataset() if validation else None,
        callbacks=callbacks,
        shuffle=False,
        verbose=0,
    )


def measure_epoch(model, validation, callbacks, epoch, metrics):
    """Measures an epoch whose steps are done, as `model.fit` does after the last of them.

    Args:
        model: compiled Keras model.
        validation: data set to measure on, or None to measure nothing.
        callbacks: list of Keras callbacks.
        epoch: int.
        metrics: dict of str to float. Those of training, as `Checkpoints.unmeasured` has them.
    """
    called = keras.callbacks.CallbackList(callbacks, model=model, epochs=epoch + 1, steps=0)
    model.stop_training, metrics = False, dict(metrics)
    called.on_train_begin()
    called.on_epoch_begin(epoch)
    if validation is not None:
        measured = model.evaluate(validation, callbacks=called, return_dict=True, verbose=0)
        metrics |= {f"val_{name}": value for name, value in measured.items()}
    called.on_epoch_end(epoch, metrics)
    called.on_train_end(metrics)


def keep_counts(run, counts):
    """Writes what is trained on to results.json as `training`; a resumed run has to have the same.

    Args:
        run: `tfreps.runs.run_folder.RunFolder`.
        counts: dict from the name of what is counted to an int.

    Raises:
        ValueError: the data or the model differ from those of the earlier run.
    """
    before = run.results().get("training", counts)
    if before != counts:
        raise ValueError(
            f"{run.path} was begun with other data: it trained {_counts(before)}, and now there "
            f"are {_counts(counts)}. Resume with the original data, or begin a new run."
        )
    run.write_results({**run.results(), "training": counts})


def _counts(counts):
    return ", ".join(f"{number:,} {name}" for name, number in counts.items())
