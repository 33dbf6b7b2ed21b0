"""fit: trains a model epoch by epoch, stops in time, resumes exactly."""

import keras
import tensorflow as tf

from tfreps.cli import optimizer_options
from tfreps.cli.options import Option
from tfreps.distribute.epoch_loop import fit_epochs, keep_counts
from tfreps.optimizers import build_optimizer

PRECISIONS = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


OPTIONS = {
    "epochs": Option(int, 30, "passes over the training data at most (30)", at_least=1),
    "patience": Option(
        int, 5, "epochs without a better dev figure, then training ends (5)", at_least=1
    ),
    "minutes": Option(float, None, "stop after this time", above=0),
    "batch_tokens": Option(int, 2048, "tokens of a batch, padding included (2048)", at_least=1),
    "batch_rows": Option(int, 32, "sentences or texts of a batch at most (32)", at_least=1),
    **optimizer_options.OPTIONS,
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
    optimizer = optimizer_options.make_optimizer(options, model, batches.num_batches(), factor)
    optimizer_options.penalize(model, options.l2)
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
