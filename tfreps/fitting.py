"""fit: trains a model epoch by epoch, stops in time, resumes exactly."""

import keras
import tensorflow as tf

from tfreps import optimization
from tfreps.callbacks import (
    BestModel,
    Checkpoints,
    EpochLog,
    OutOfTime,
    RateCuts,
    WeightAverages,
)
from tfreps.optimizers import build_optimizer
from tfreps.program_options import Option
from tfreps.stop_signals import held_back

PRECISIONS = {"float32": "float32", "bfloat16": "mixed_bfloat16"}

OPTIONS = {
    "epochs": Option(int, 30, "passes over the training data at most (30)", at_least=1),
    "patience": Option(
        int, 5, "epochs without a better dev figure, then training ends (5)", at_least=1
    ),
    "minutes": Option(float, None, "stop after this time", above=0),
    "batch_tokens": Option(int, 2048, "tokens of a batch, padding included (2048)", at_least=1),
    "batch_rows": Option(int, 32, "sentences or texts of a batch at most (32)", at_least=1),
    **optimization.OPTIONS,
    "precision": Option(str, "float32", "of products (float32)", sorted(PRECISIONS)),
    "checkpoint_every": Option(int, 500, "steps (500)", at_least=1),
    "seed": Option(int, 0, "of weights, order, dropout (0)", at_least=0),
    "deterministic": Option(bool, False, "same numbers in every run; slower on GPUs"),
}  # fmt: skip
MAY_CHANGE = {"minutes", "checkpoint_every", "test", "test_vectors"}


def may_change(options):
    """Names of options that may differ when a run is resumed.

    Example:
    >>> import argparse
    >>> "epochs" in may_change(argparse.Namespace(schedule="linear"))
    False
    """
    return MAY_CHANGE | ({"epochs"} if options.schedule == "constant" else set())


def prepare(options):
    """Sets the precision, the seed and determinism, before the first weight is made."""
    keras.config.set_dtype_policy(PRECISIONS[options.precision])
    keras.utils.set_random_seed(options.seed)
    if options.deterministic:
        tf.config.experimental.enable_op_determinism()


def fit(model, batches, validation, run, figure, options):
    """`fit_epochs` with Adam, as `OPTIONS` ask for it.

    The run's results.json gains `training`: how many sentences, tokens and parameters. A resumed
    run has to have as many as before.

    Args:
        model: Keras model that is not compiled.
        batches, validation, run, figure: as in `fit_epochs`.
        options: namespace with what `OPTIONS` names, and `resume`.

    Returns:
        dict, as of `fit_epochs`.

    Raises:
        ValueError: the data or the model are not those of before.
    """
    names = "sentences", "tokens", "parameters"
    numbers = batches.num_sentences, batches.num_tokens, model.count_params()
    keep_counts(run, dict(zip(names, numbers, strict=True)))
    factor = None
    if options.plateau_decay != 1.0:
        factor = tf.Variable(1.0, trainable=False)
    optimizer = optimization.make_optimizer(options, model, batches.num_batches(), factor)
    optimization.penalize(model, options.l2)
    model.compile(optimizer, jit_compile=False)
    build_optimizer(model)
    if not validation:
        print(
            "No text is held out: the newest weights are kept. Nothing is measured that would end "
            "training (--patience), cut its rate (--plateau-decay) or choose the best weights."
        )
    return fit_epochs(
        model,
        batches,
        validation,
        run,
        options.epochs,
        figure,
        patience=options.patience,
        minutes=options.minutes,
        checkpoint_every=options.checkpoint_every,
        resume=options.resume,
        larger_is_better=figure != "loss",
        rate_factor=factor,
        plateau_decay=options.plateau_decay,
        average=options.average > 0,
    )


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
    (`tfreps.stop_signals`) ends it after the next step, with a checkpoint.

    Args:
        model: compiled Keras model.
        batches: `tfreps.data.SequenceBatches` to train on, or anything with its
            `dataset(epoch, first_batch)`, `num_batches(epoch)` and `num_tokens`.
        validation: the same, to measure on after each epoch; None for none, and then the newest
            model is kept.
        run: `tfreps.run_folder.RunFolder`.
        epochs: int. Passes over the data at most.
        figure: str. The metric by which a model is better, as `"f1"`, measured on `validation`.
        patience: int or None. Training ends after so many epochs without a better figure.
        minutes: float or None. Training ends after this time, within an epoch too. What it has
            learned in that epoch is kept for resuming; in the first one it is the model as well.
        checkpoint_every: int. Steps between checkpoints; there is one after each epoch too.
        resume: bool. Whether to go on from the newest checkpoint in the folder.
        larger_is_better: bool. Of `figure`.
        log_every: int or None. Steps between figures within an epoch, beside those after it.
        rate_factor: `tf.Variable`, the factor of a `tfreps.schedules.CutRate`; needs `patience`.
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
        run: `tfreps.run_folder.RunFolder`.
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
