"""make_optimizer: Adam as a program's options ask for it, part by part of a model."""

import re

import keras

from tfreps.cli.options import Option
from tfreps.optimizers import CutRate, FusedAdam, GroupedOptimizer, LinearWarmup

OPTIONS = {
    "learning_rate": Option(float, 1e-3, "of Adam (0.001)", above=0),
    "decay": Option(float, 1.0, "factor on the learning rate after each epoch (1)", above=0),
    "plateau_decay": Option(
        float, 1.0, "factor on it after each epoch without a better dev figure (1)", above=0
    ),
    "warmup_steps": Option(int, 0, "batches until the learning rate is reached (0)", at_least=0),
    "schedule": Option(
        str, "constant", "then it stays, or falls to nothing by the last epoch (constant)",
        choices=["constant", "linear"],
    ),
    "clip_norm": Option(float, 5.0, "of the gradient; 0: none (5)", at_least=0),
    "weight_decay": Option(
        float, 0.0, "of all weights but biases, decoupled from Adam (0)", at_least=0
    ),
    "l2": Option(
        float, 0.0, "times half the squares of all weights but biases is added to the loss (0)",
        at_least=0,
    ),
    "embedding_learning_rate": Option(
        float, None, "of the word vectors (--learning-rate)", above=0
    ),
    "elmo_learning_rate": Option(float, 1e-4, "of a biLM under --fine-tune-elmo (0.0001)", above=0),
    "linear_learning_rate": Option(
        float, None, "of the linear model beside an encoder (--learning-rate)", above=0
    ),
    "bert_learning_rate": Option(float, None, "of a BERT's last block (--learning-rate)", above=0),
    "layer_decay": Option(
        float, None, "factor on it from each block of a BERT to the one before (1)", above=0
    ),
    "average": Option(
        float, 0.0, "momentum of moving averages of the weights, which are measured and kept; "
        "0.99: over about 100 updates; 0: none (0)", at_least=0, below=1,
    ),
}  # fmt: skip


def check(options):
    """Finds options that make no sense together.

    Args:
        options: namespace with what `OPTIONS` names.

    Raises:
        ValueError: for a `decay` beside a warm-up or a schedule.
    """
    if options.decay != 1.0 and (options.warmup_steps or options.schedule != "constant"):
        raise ValueError("--decay goes alone: leave --warmup-steps and --schedule linear out.")


def make_optimizer(options, model, steps_per_epoch, factor=None):
    """Adam as `OPTIONS` ask for it, with learning rates of their own for parts of the model.

    Args:
        options: namespace with what `OPTIONS` names.
        model: Keras model with all its weights.
        steps_per_epoch: int.
        factor: `tf.Variable` by which all learning rates are multiplied; None for none.

    Example:
    >>> import argparse
    >>> options = argparse.Namespace(**{name: o.default for name, o in OPTIONS.items()})
    >>> model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
    >>> round(float(make_optimizer(options, model, 10).learning_rate), 6)
    0.001
    """

    norms = ["gamma", "beta"] if getattr(options, "bert", None) else []
    total = options.epochs * steps_per_epoch if options.schedule == "linear" else None

    def adam(rate):
        if options.decay != 1.0:
            rate = keras.optimizers.schedules.ExponentialDecay(
                rate, steps_per_epoch, options.decay, staircase=True
            )
        if options.warmup_steps or total:
            rate = LinearWarmup(rate, total, options.warmup_steps)
        if factor is not None:
            rate = CutRate(rate, factor)
        decay = options.weight_decay or None
        average = {"use_ema": True, "ema_momentum": options.average} if options.average else {}
        optimizer = FusedAdam(
            rate, weight_decay=decay, global_clipnorm=None if is_grouped else clip, **average
        )
        if decay:
            optimizer.exclude_from_weight_decay(var_names=["bias", *norms])
        return optimizer

    rates = {
        "word_embeddings": options.embedding_learning_rate,
        "token_encoder/|bilstm/(forward|backward)/": options.elmo_learning_rate,
        r"\blinear/": options.linear_learning_rate,
    }
    paths = [weight.path for weight in model.trainable_variables]
    rates |= _bert_rates(options, paths)
    rates = {
        part: rate
        for part, rate in rates.items()
        if rate is not None and any(re.search(part, path) for path in paths)
    }
    clip, is_grouped = options.clip_norm or None, bool(rates or options.average)
    base = adam(options.learning_rate)
    if not is_grouped:
        return base
    groups = {part: adam(rate) for part, rate in rates.items()}
    return GroupedOptimizer(base, groups, global_clipnorm=clip)


def penalize(model, l2):
    """Adds `l2 / 2 * sum w^2` to a model's loss, over the weights that are trained, but no biases.

    Adam scales this gradient as any other; `weight_decay` goes past it.

    Args:
        model: Keras model with all its weights, whose loss counts `model.losses`.
        l2: float.

    Example:
    >>> model = keras.Sequential([keras.layers.Dense(1, kernel_initializer="ones")])
    >>> model.build([None, 3])
    >>> penalize(model, 0.5)
    >>> [float(loss) for loss in model.losses]        # 0.5 / 2 * 3
    [0.75]
    """
    for weight in model.trainable_variables if l2 else ():
        if len(weight.shape) > 1:
            weight.regularizer = keras.regularizers.L2(l2 / 2)


def _bert_rates(options, paths):
    """Pattern of paths -> learning rate, of a BERT's parts if they have rates of their own."""
    decay = options.layer_decay
    if decay is None and options.bert_learning_rate is None:
        return {}
    top, decay = options.bert_learning_rate or options.learning_rate, decay or 1.0
    numbers = {int(n) for path in paths for n in re.findall(r"\bblock_(\d+)/", path)}
    last = max(numbers, default=0)
    rates = {rf"\bblock_{n}/": top * decay ** (last - n) for n in numbers}
    tables = r"\b(token_embedding|positions|segments|embedding_norm)/"
    return {**rates, tables: top * decay ** (last + 1), r"\b(final_norm|pooler_dense)/": top}
