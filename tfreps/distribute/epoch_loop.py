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
    figure,
    patience=None,
    minutes=None,
    checkpoint_every=500,
    resume=False,
    larger_is_better=True,
    log_every=None,
    rate_factor=None,
    plateau_decay=1.0,
    average=False,
):
    """Trains with `model.fit`, one call an epoch, and keeps the best model in the run folder.

    A run that was killed anywhere goes on from its last checkpoint with `resume`, and ends as it
    would have ended: weights, optimiser, dropout seeds, running metrics, the place in the data
    and the wait for a better figure all come back. A signal that asks the program to stop
    (`tfreps.callbacks.stop_signals`) ends it after the next step, with a checkpoint.

    Args:
        model: compiled Keras model.
        batches: `tfreps.data.SequenceBatches` to train on, or anything with its
            `dataset(epoch, first_batch)`, `num_batches(epoch)` and `num_tokens`.
        validation: the same, to measure on after each epoch; None for none, and then the newest
            model is kept.
        run: `tfreps.runs.run_folder.RunFolder`.
        epochs: int. Passes over the data at most.
        figure: str. The metric by which a model is better, as `"f1"`, measured on `validation`.
        patience: int or None. Training ends after so many epochs without a better figure.
        minutes: float or None. Training ends after this time, within an epoch too. What it has
            learned in that epoch is kept for resuming; in the first one it is the model as well.
        checkpoint_every: int. Steps between checkpoints; there is one after each epoch too.
        resume: bool. Whether to go on from the newest checkpoint in the folder.
        larger_is_better: bool. Of `figure`.
        log_every: int or None. Steps between figures within an epoch, beside those after it.
        rate_factor: `tf.Variable`, the factor of a `tfreps.optimizers.CutRate`; needs `patience`.
        plateau_decay: float. What it is multiplied by after an epoch without a better figure.
        average: bool. Whether the model is measured and kept with the moving averages that the
            parts of its optimiser, a `GroupedOptimizer`, take (see `WeightAverages`).

    Returns:
        dict with the best `figure`, its `step`, and `steps`, the number of all updates.

    Raises:
        Stopped: a signal came.
    """
    best, place = {}, {"epoch": 0, "first_step": 0}

    def position(step):
        return {"epoch": place["epoch"], "batch": step - place["first_step"]}

    checkpoints = Checkpoints(run.checkpoints_path, position, checkpoint_every, extra=best)
    log = EpochLog(run.logs_path, checkpoints, epochs, batches.num_tokens, minutes, log_every)
    averages = WeightAverages(run.save_model) if average else None
    save = averages.save if average else run.save_model
    keeper = BestModel(save, best, checkpoints, figure, larger_is_better, patience)
    more = [averages] if average else []
    if rate_factor is not None:
        more.append(RateCuts(rate_factor, plateau_decay, best))
    if resume:  # Keras makes the variables of compiled metrics at the first batch
        model.evaluate(batches.dataset(0).take(1), verbose=0)
    callbacks = [log, keeper, *more, checkpoints]
    found = checkpoints.restore(model) if resume else None
    epoch, batch = _start(found, batches, checkpoints.unmeasured is not None)
    stopped = keeper.has_waited_enough()
    while epoch < epochs and not stopped:
        place.update(epoch=epoch, first_step=checkpoints.step - batch)
        log.first_batch = batch
        try:
            with held_back(), checkpoints.kept_when_stopped(averages and averages.put_back):
                if checkpoints.unmeasured is None:
                    fit_epoch(model, batches, validation, callbacks, epoch, batch)
                else:
                    data = validation.dataset() if validation else None
                    measure_epoch(model, data, callbacks, epoch, checkpoints.unmeasured)
        except OutOfTime:
            log.say(f"Time is over in epoch {epoch + 1} of {epochs}: --resume goes on.", final=True)
            if epoch == 0:  # there is no better one
                save(model)
            break
        stopped, epoch, batch = model.stop_training, epoch + 1, 0
    return {**best, "steps": checkpoints.step}


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


def measure_epoch(model, validation, callbacks, epoch, figures):
    """Measures an epoch whose steps are done, as `model.fit` does after the last of them.

    Args:
        model: compiled Keras model.
        validation: data set to measure on, or None to measure nothing.
        callbacks: list of Keras callbacks.
        epoch: int.
        figures: dict of str to float. Those of training, as `Checkpoints.unmeasured` has them.
    """
    called = keras.callbacks.CallbackList(callbacks, model=model, epochs=epoch + 1, steps=0)
    model.stop_training, figures = False, dict(figures)
    called.on_train_begin()
    called.on_epoch_begin(epoch)
    if validation is not None:
        measured = model.evaluate(validation, callbacks=called, return_dict=True, verbose=0)
        figures |= {f"val_{name}": value for name, value in measured.items()}
    called.on_epoch_end(epoch, figures)
    called.on_train_end(figures)


def keep_counts(run, counts):
    """Writes what is trained on to results.json as `training`; a resumed run has to have the same.

    Args:
        run: `tfreps.runs.run_folder.RunFolder`.
        counts: dict from the name of what is counted to an int.

    Raises:
        ValueError: the data or the model are not those of before.
    """
    before = run.results().get("training", counts)
    if before != counts:
        raise ValueError(
            f"{run.path} was begun with other data: it trained {_counts(before)}, and now there "
            f"are {_counts(counts)}. Resume with the data of before, or begin a new run."
        )
    run.write_results({**run.results(), "training": counts})


def _counts(counts):
    return ", ".join(f"{number:,} {name}" for name, number in counts.items())


def _start(position, batches, is_unmeasured):
    """Epoch and batch at which training begins."""
    if position is None:
        return 0, 0
    if not is_unmeasured and position["batch"] >= batches.num_batches(position["epoch"]):
        return position["epoch"] + 1, 0
    return position["epoch"], position["batch"]
