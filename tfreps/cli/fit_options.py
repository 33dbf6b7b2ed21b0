"""fit: compiles a tagger or classifier and trains it, as a program's options ask for it."""

import keras
import tensorflow as tf

from tfreps.cli import optimizer_options
from tfreps.cli.messages import say_nothing_held_out, say_progress
from tfreps.cli.options import Option
from tfreps.distribute.epoch_loop import fit_epochs, keep_counts
from tfreps.optimizers import build_optimizer

PRECISIONS = {"float32": "float32", "bfloat16": "mixed_bfloat16"}

# What every program that trains has.
SHARED = {
    "minutes": Option(float, None, "stop after this time", above=0),
    "precision": Option(str, "float32", "of products (float32)", sorted(PRECISIONS)),
    "checkpoint_every": Option(int, 500, "steps (500)", at_least=1),
    "seed": Option(int, 0, "of weights, order, dropout (0)", at_least=0),
    "deterministic": Option(bool, False, "same numbers in every run; slower on GPUs"),
}
OPTIONS = {
    "epochs": Option(int, 30, "passes over the training data at most (30)", at_least=1),
    "patience": Option(
        int, 5, "epochs without a better dev metric, then training ends (5)", at_least=1
    ),
    "batch_tokens": Option(int, 2048, "tokens of a batch, padding included (2048)", at_least=1),
    "batch_rows": Option(int, 32, "sentences or texts of a batch at most (32)", at_least=1),
    **optimizer_options.OPTIONS,
    **SHARED,
}


def prepare(options):
    """Sets the precision, the seed and determinism, before the first weight is made."""
    keras.config.set_dtype_policy(PRECISIONS[options.precision])
    make_reproducible(options)


def make_reproducible(options):
    """Sets the seed and, if the options say so, determinism."""
    keras.utils.set_random_seed(options.seed)
    if options.deterministic:
        tf.config.experimental.enable_op_determinism()


def fit(model, batches, validation, run, monitor, options):
    """`fit_epochs` with Adam, as `OPTIONS` ask for it.

    The run's results.json gains `training`: how many sentences, tokens and parameters. A resumed
    run has to have as many as before.

    Args:
        model: model of tfreps that is not compiled.
        batches, validation, run, monitor: as in `fit_epochs`.
        options: namespace with what `OPTIONS` names, and `resume`.

    Returns:
        dict, as of `fit_epochs`.

    Raises:
        ValueError: the data or the model differ from those of the earlier run.
    """
    names = "sentences", "tokens", "parameters"
    numbers = batches.num_sentences, batches.num_tokens, model.count_params()
    keep_counts(run, dict(zip(names, numbers, strict=True)))
    factor = None
    if options.plateau_decay != 1.0:
        factor = tf.Variable(1.0, trainable=False)
    optimizer = optimizer_options.make_optimizer(options, model, batches.num_batches(), factor)
    optimizer_options.penalize(model, options.l2)
    model.compile(optimizer, jit_compile=False)
    build_optimizer(model)
    if not validation:
        say_nothing_held_out()
    return fit_epochs(
        model,
        batches,
        validation,
        run,
        options.epochs,
        monitor,
        patience=options.patience,
        minutes=options.minutes,
        checkpoint_every=options.checkpoint_every,
        resume=options.resume,
        rate_factor=factor,
        plateau_decay=options.plateau_decay,
        average=options.average > 0,
        say=say_progress,
    )
