"""Builds Adam from the options, with separate learning rates for parts of a model."""

import keras

from tfreps._src.models.bert import BertEncoder
from tfreps._src.models.elmo import Elmo
from tfreps._src.models.token_embedder import TokenEmbedder
from tfreps._src.optimizers.fused_adam import FusedAdam
from tfreps._src.optimizers.grouped_optimizer import GroupedOptimizer
from tfreps._src.optimizers.schedules import LinearWarmup, ReducibleLearningRate


def make_optimizer(options, model, steps_per_epoch, rate_scale=None):
    """Returns Adam, or a `GroupedOptimizer` for separate learning rates or averaged weights.

    `rate_scale` is a `tf.Variable` that multiplies all learning rates, or `None`.
    """
    groups = part_rates(options, model)
    is_grouped, clip = bool(groups or options.ema_momentum), options.clip_norm or None
    steps = steps_per_epoch, None if is_grouped else clip, rate_scale
    has_norms = model.find(BertEncoder) is not None
    base = make_adam(options, options.learning_rate, *steps, has_norms)
    if not is_grouped:
        return base
    adams = {
        part: make_adam(options, rate, *steps, has_norms) for part, (rate, _) in groups.items()
    }
    members = {part: variables for part, (_, variables) in groups.items()}
    return GroupedOptimizer(base, adams, members, global_clipnorm=clip)


def make_adam(options, rate, steps_per_epoch, clip=None, rate_scale=None, has_norms=False):
    """Returns Adam with the learning rate `rate` and the schedule of the options.

    With `has_norms`, the weights of layer normalization are excluded from weight decay.
    """
    total = options.epochs * steps_per_epoch if options.schedule == "linear" else None
    if options.decay != 1.0:
        rate = keras.optimizers.schedules.ExponentialDecay(
            rate, steps_per_epoch, options.decay, staircase=True
        )
    if options.warmup_steps or total:
        rate = LinearWarmup(rate, total, options.warmup_steps)
    if rate_scale is not None:
        rate = ReducibleLearningRate(rate, rate_scale)
    decay = options.weight_decay or None
    average = (
        {"use_ema": True, "ema_momentum": options.ema_momentum} if options.ema_momentum else {}
    )
    optimizer = FusedAdam(rate, weight_decay=decay, global_clipnorm=clip, **average)
    if decay:
        norms = ["gamma", "beta"] if has_norms else []
        optimizer.exclude_from_weight_decay(var_names=["bias", *norms])
    return optimizer


def part_rates(options, model):
    """Returns the learning rates of the parts of a model that have a rate of their own.

    The result is a dict from the name of each part, such as `"biLM"`, to a tuple of the learning
    rate and the list of the trainable variables. Parts without trainable variables are omitted.
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
    """Adds `l2 / 2 * sum w^2` over the trainable weights of a model to its loss.

    Vectors and scalars, such as biases, are excluded. Adam scales the gradient of this penalty like
    any other gradient; it does not scale `weight_decay`.
    """
    for weight in model.trainable_variables if l2 else ():
        if len(weight.shape) > 1 and not weight.name.endswith("bias"):
            weight.regularizer = keras.regularizers.L2(l2 / 2)


def _bert_rates(options, bert):
    """Returns the learning rates of the layers of a BERT model, in the form of `part_rates`.

    The result is `{}` if no option sets learning rates for BERT.
    """
    decay = options.layer_decay
    if decay is None and options.bert_learning_rate is None:
        return {}
    rate, decay = options.bert_learning_rate or options.learning_rate, decay or 1.0
    top = [layer for layer in (bert.final_norm, bert.pooler_dense) if layer is not None]
    found = {"top of the BERT": (rate, _variables(top))}
    for number, block in enumerate(reversed(bert.blocks)):
        name = f"layer {len(bert.blocks) - 1 - number} of the BERT"
        found[name] = rate * decay**number, block.trainable_variables
    above = {id(variable) for _, variables in found.values() for variable in variables}
    tables = [v for v in bert.trainable_variables if id(v) not in above]
    return {**found, "tables of the BERT": (rate * decay ** len(bert.blocks), tables)}


def _variables(layers):
    return [variable for layer in layers for variable in layer.trainable_variables]
