"""Compiles a tagger or classifier and trains it with the options of a program."""

import keras
import tensorflow as tf

from tfreps.callbacks import EpochLog, RateCuts, WeightAverages
from tfreps.cli import optimizer_options, precision_options
from tfreps.cli.progress import say_progress
from tfreps.fitting.epoch_loop import FitPlan, fit_epochs
from tfreps.models.precision import POLICIES
from tfreps.optimizers import build_optimizer


def prepare(options, earlier, kind, rows, width=None):
    """Sets the precision, the seed and determinism. Call it before any weight is created.

    Args:
        options: namespace of all options of the program.
        earlier, kind, rows, width: Arguments of `tfreps.cli.precision_options.settle`.
    """
    precision_options.settle(options, earlier, kind, rows, width)
    keras.config.set_dtype_policy(POLICIES[options.precision])
    make_reproducible(options)


def make_reproducible(options):
    """Sets the seed and, with `--deterministic`, deterministic operations."""
    keras.utils.set_random_seed(options.seed)
    if options.deterministic:
        tf.config.experimental.enable_op_determinism()


def fit(model, batches, validation, run, monitor, options):
    """Trains a model with Adam and `fit_epochs`.

    The numbers of sentences, tokens and parameters are written to the run's results.json under the
    key `training`.

    Args:
        model: `Tagger` or `Classifier` that is not compiled.
        batches: `SequenceBatches` of the training data.
        validation: `SequenceBatches` of the held-out data. If `None`, no epoch is evaluated, and
            the last weights are saved.
        run: `tfreps.runs.run_folder.RunFolder`.
        monitor: str. Metric of the held-out data by which the best weights are chosen, such as
            `"val_accuracy"`.
        options: namespace with the options of `training_options.LABELLING`, and `resume`.

    Returns:
        dict that `fit_epochs` returned: `steps`, the total number of steps; if the metric was
        measured, its best value, under its name without `val_`, and `step`, the step at which this
        value was reached; and, if they are not 0, `waited`, the number of epochs without
        improvement, and `cuts`, the number of reductions of the learning rate.

    Raises:
        Stopped: If a signal was received.
        ValueError: If `fit_epochs` raises an error, for example because training diverges or the
            model of a resumed run has changed.
    """
    names = "sentences", "tokens", "parameters"
    numbers = batches.num_sentences, batches.num_tokens, model.count_params()
    counts = dict(zip(names, numbers, strict=True))
    run.write_results({**run.results(), "training": counts})
    factor = None
    if options.plateau_decay != 1.0:
        factor = tf.Variable(1.0, trainable=False)
    with model.distribute_strategy.scope():
        optimizer = optimizer_options.make_optimizer(options, model, batches.num_batches(), factor)
        optimizer_options.penalize(model, options.l2)
        model.compile(optimizer, jit_compile=False)
        build_optimizer(model)
    if not validation:
        print(
            "No text is held out: the last weights are saved instead of the best ones. --patience "
            "and --plateau-decay have no effect."
        )
    plan = FitPlan(
        options.epochs,
        monitor,
        options.patience,
        options.minutes,
        checkpoint_every=options.checkpoint_every,
        resume=options.resume,
    )
    length = options.epochs, batches.num_tokens, options.minutes
    callbacks = [EpochLog(run.logs_path, *length, say=say_progress)]
    if factor is not None:
        callbacks.append(RateCuts(factor, options.plateau_decay, monitor))
    if options.average:
        callbacks.append(WeightAverages(run.save_model))
    return fit_epochs(model, batches, validation, run, plan, callbacks)
