"""make_optimizer: Adam as a program's options ask for it, part by part of a model."""

import keras

from tfreps.cli.options import Option
from tfreps.models import BertEncoder, Elmo, TokenEmbedder
from tfreps.optimizers import CutRate, FusedAdam, GroupedOptimizer, LinearWarmup

OPTIONS = {
    "learning_rate": Option(float, 1e-3, "of Adam (0.001)", above=0),
    "decay": Option(
        float, 1.0, "factor on the learning rate after each epoch (1)", above=0,
        excludes=("warmup_steps", "schedule=linear"),
    ),
    "plateau_decay": Option(
        float, 1.0, "factor on it after each epoch without a better dev metric (1)", above=0
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
        float, None, "of the word vectors (--learning-rate)", above=0,
        excludes=("no_words", "no_trainable_embeddings"),
    ),
    "elmo_learning_rate": Option(
        float, 1e-4, "of a biLM under --elmo-fine-tune (0.0001)", above=0, needs="elmo_fine_tune"
    ),
    "linear_learning_rate": Option(
        float, None, "of the linear model beside an encoder (--learning-rate)", above=0,
        needs="linear_features or ngrams",
    ),
    "bert_learning_rate": Option(
        float, None, "of a BERT's last block (--learning-rate)", above=0, needs="bert"
    ),
    "layer_decay": Option(
        float, None, "factor on it from each block of a BERT to the one before (1)", above=0,
        needs="bert",
    ),
    "average": Option(
        float, 0.0, "momentum of moving averages of the weights, which are measured and kept; "
        "0.99: over about 100 updates; 0: none (0)", at_least=0, below=1,
    ),
}  # fmt: skip


def make_optimizer(options, model, steps_per_epoch, factor=None):
    """Adam as `OPTIONS` ask for it, with learning rates of their own for parts of the model.

    Args:
        options: namespace with what `OPTIONS` names.
        model: a model of tfreps with all its weights.
        steps_per_epoch: int.
        factor: `tf.Variable` by which all learning rates are multiplied, or None.

    Example:
    >>> import argparse
    >>> options = argparse.Namespace(**{name: o.default for name, o in OPTIONS.items()})
    >>> model = TokenEmbedder(vocabulary_size=9, embedding_dim=4)
    >>> round(float(make_optimizer(options, model, 10).learning_rate), 6)
    0.001
    """
    groups = part_rates(options, model)
    is_grouped, clip = bool(groups or options.average), options.clip_norm or None
    steps = steps_per_epoch, None if is_grouped else clip, factor
    has_norms = model.find(BertEncoder) is not None
    base = make_adam(options, options.learning_rate, *steps, has_norms)
    if not is_grouped:
        return base
    adams = {
        part: make_adam(options, rate, *steps, has_norms) for part, (rate, _) in groups.items()
    }
    members = {part: variables for part, (_, variables) in groups.items()}
    return GroupedOptimizer(base, adams, members, global_clipnorm=clip)


def make_adam(options, rate, steps_per_epoch, clip=None, factor=None, has_norms=False):
    """Adam for one learning rate, which falls, rises and is cut as `OPTIONS` ask for it.

    Args:
        options, steps_per_epoch, factor: as of `make_optimizer`.
        rate: float.
        clip: float or None. Bound of the norm of all gradients that it applies.
        has_norms: bool. Whether there are layer norms that weight decay leaves alone.
    """
    total = options.epochs * steps_per_epoch if options.schedule == "linear" else None
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
    optimizer = FusedAdam(rate, weight_decay=decay, global_clipnorm=clip, **average)
    if decay:
        norms = ["gamma", "beta"] if has_norms else []
        optimizer.exclude_from_weight_decay(var_names=["bias", *norms])
    return optimizer


def part_rates(options, model):
    """The parts of a model that have a learning rate of their own.

    Args:
        options: namespace with what `OPTIONS` names.
        model: a model of tfreps with all its weights.

    Returns:
        dict from the name of a part to its rate and its trainable variables; parts without such
        variables are left out.
    """
    found = {}
    embedder, elmo = model.find(TokenEmbedder), model.find(Elmo)
    linear, bert = model.parts().get("linear"), model.find(BertEncoder)
    if embedder is not None and embedder.vocabulary_size is not None:
        found["word vectors"] = options.embedding_learning_rate, [embedder.word_embeddings]
    if elmo is not None:
        found["biLM"] = options.elmo_learning_rate, elmo.bilm.trainable_variables
    if linear is not None:
        found["linear model"] = options.linear_learning_rate, linear.trainable_variables
    if bert is not None:
        found |= _bert_rates(options, bert)
    found = {
        part: (rate, [variable for variable in variables if variable.trainable])
        for part, (rate, variables) in found.items()
        if rate is not None
    }
    return {part: pair for part, pair in found.items() if pair[1]}


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


def _bert_rates(options, bert):
    """The same of a BERT's blocks, of what lies above them and below, if rates differ there."""
    decay = options.layer_decay
    if decay is None and options.bert_learning_rate is None:
        return {}
    rate, decay = options.bert_learning_rate or options.learning_rate, decay or 1.0
    top = [layer for layer in (bert.final_norm, bert.pooler_dense) if layer is not None]
    found = {"top of the BERT": (rate, _variables(top))}
    for number, block in enumerate(reversed(bert.blocks)):
        name = f"block {len(bert.blocks) - 1 - number} of the BERT"
        found[name] = rate * decay**number, block.trainable_variables
    above = {id(variable) for _, variables in found.values() for variable in variables}
    tables = [v for v in bert.trainable_variables if id(v) not in above]
    return {**found, "tables of the BERT": (rate * decay ** len(bert.blocks), tables)}


def _variables(layers):
    return [variable for layer in layers for variable in layer.trainable_variables]
