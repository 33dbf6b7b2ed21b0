"""fit_epochs: trains a tagger or classifier epoch by epoch, stops in time, resumes exactly."""

from tfreps.callbacks import BestModel, Checkpoints, EpochLog


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
):
    """Trains with `model.fit`, one call an epoch, and keeps the best model in the run folder.

    A run that was killed anywhere goes on from its last checkpoint with `resume`, and ends as it
    would have ended: weights, optimiser, dropout seeds, running metrics, the place in the data
    and the wait for a better figure all come back.

    Args:
        model: compiled Keras model.
        batches: `tfreps.data.SequenceBatches` to train on, or anything with its
            `dataset(epoch)`, `num_batches(epoch)` and `num_tokens`.
        validation: the same, to measure on after each epoch; None for none, and then the newest
            model is kept.
        run: `tfreps.run_folder.RunFolder`.
        epochs: int. Passes over the data at most.
        figure: str. The metric by which a model is better, as `"f1"`, measured on `validation`.
        patience: int or None. Training ends after so many epochs without a better figure.
        minutes: float or None. Training ends after this time.
        checkpoint_every: int. Steps between checkpoints; there is one after each epoch too.
        resume: bool. Whether to go on from the newest checkpoint in the folder.
        larger_is_better: bool. Of `figure`.

    Returns:
        dict with the best `figure`, its `step`, and `steps`, the number of all updates.
    """
    best, place = {}, {"epoch": 0, "first_step": 0}

    def position(step):
        return {"epoch": place["epoch"], "batch": step - place["first_step"]}

    checkpoints = Checkpoints(run.checkpoints_path, position, checkpoint_every, extra=best)
    log = EpochLog(run.logs_path, checkpoints, epochs, batches.num_tokens, minutes)
    keeper = BestModel(run.save_model, best, checkpoints, figure, larger_is_better, patience)
    if resume:  # Keras makes the variables of compiled metrics at the first batch
        model.evaluate(batches.dataset(0).take(1), verbose=0)
    epoch, batch = _start(checkpoints.restore(model) if resume else None, batches)
    stopped = keeper.has_waited_enough()
    while epoch < epochs and not stopped:
        place.update(epoch=epoch, first_step=checkpoints.step - batch)
        model.fit(
            batches.dataset(epoch).skip(batch),
            steps_per_epoch=batches.num_batches(epoch) - batch,
            initial_epoch=epoch,
            epochs=epoch + 1,
            validation_data=validation.dataset() if validation else None,
            callbacks=[log, keeper, checkpoints],
            shuffle=False,
            verbose=0,
        )
        stopped, epoch, batch = model.stop_training, epoch + 1, 0
    return {**best, "steps": checkpoints.step}


def _start(position, batches):
    """Epoch and batch at which training begins."""
    if position is None:
        return 0, 0
    if position["batch"] >= batches.num_batches(position["epoch"]):
        return position["epoch"] + 1, 0
    return position["epoch"], position["batch"]
