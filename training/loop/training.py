"""Trains a tagger or classifier with the options of a run."""

import keras
import tensorflow as tf

from tfreps._src.callbacks.epoch_log import EpochLog
from tfreps._src.callbacks.reduce_learning_rate import ReduceLearningRate
from tfreps._src.callbacks.weight_averages import WeightAverages
from tfreps._src.cli.progress import say_progress
from tfreps._src.models.precision import POLICIES
from tfreps._src.optimizers.optimizer_variables import build_optimizer
from tfreps.training.loop import precision
from tfreps.training.loop.epoch_loop import FitPlan, fit_epochs
from tfreps.training.loop.optimizer import make_optimizer, penalize


def set_precision_and_seed(options, earlier, kind, rows, width=None):
    """Sets the precision (see `precision.decide`), the seed and determinism.

    Call this function before any weight is created.
    """
    precision.decide(options, earlier, kind, rows, width)
    keras.config.set_dtype_policy(POLICIES[options.precision])
    make_reproducible(options)


def make_reproducible(options):
    """Sets the random seed.

    If `options.deterministic` is True, TensorFlow also uses only deterministic operations.
    """
    keras.utils.set_random_seed(options.seed)
    if options.deterministic:
        tf.config.experimental.enable_op_determinism()


def fit(model, batches, validation, run, monitor, options, about=None):
    """Trains a tagger or classifier with Adam, and prints the progress.

    The numbers of sentences, tokens and parameters are written to the run's results.json under the
    key `training`. Returns the result of `fit_epochs`, which describes the other arguments.
    """
    if not validation:
        print(
            "There is no validation data: the last weights are saved instead of the best ones. "
            "--patience and plateau_decay have no effect."
        )
    counts = {"sentences": batches.num_sentences, "tokens": batches.num_tokens}
    counts["parameters"] = model.count_params()
    run.write_results({**run.results(), "training": counts})
    rate_scale = None
    if options.plateau_decay != 1.0:
        rate_scale = tf.Variable(1.0, trainable=False)
    with model.distribute_strategy.scope():
        optimizer = make_optimizer(options, model, batches.num_batches(), rate_scale)
        penalize(model, options.l2)
        model.compile(optimizer, jit_compile=False)
        build_optimizer(model)
    plan = FitPlan(
        options.epochs,
        monitor,
        options.patience,
        options.time_limit_minutes,
        checkpoint_every=options.checkpoint_every,
        resume=options.resume,
    )
    length = options.epochs, batches.num_tokens, options.time_limit_minutes
    callbacks = [EpochLog(run.logs_path, *length, print_fn=say_progress)]
    if rate_scale is not None:
        callbacks.append(ReduceLearningRate(rate_scale, options.plateau_decay, monitor))
    if options.ema_momentum:
        callbacks.append(WeightAverages(run.save_model))
    return fit_epochs(model, batches, validation, run, plan, callbacks, about)
