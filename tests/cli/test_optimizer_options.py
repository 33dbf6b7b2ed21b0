"""The optimiser that options ask for: rates of parts, schedules, decay, L2, averages."""

import types

import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.line_model import make_model, options
from tfreps.cli import optimizer_options
from tfreps.cli.optimizer_options import make_optimizer
from tfreps.layers import CharLSTMEncoder
from tfreps.models import PieceEncoder, Tagger
from tfreps.optimizers import FusedAdam, GroupedOptimizer
from tfreps.runs.bert_loading import freeze_blocks


def test_the_optimizer_is_what_the_options_say():
    model = make_model()
    adam = make_optimizer(options(learning_rate=0.5, clip_norm=2.0), model, 10)
    assert type(adam) is FusedAdam and adam.global_clipnorm == 2.0
    assert float(adam.learning_rate) == 0.5 and adam.weight_decay is None
    assert make_optimizer(options(clip_norm=0.0), model, 10).global_clipnorm is None
    grouped = make_optimizer(options(clip_norm=2.0, average=0.5), model, 10)
    assert grouped.global_clipnorm == 2.0 and grouped.default.global_clipnorm is None
    adam = make_optimizer(options(learning_rate=0.5, decay=0.5), model, 10)
    adam.build(model.trainable_variables)
    rates = []
    for step in (0, 9, 10, 25):
        adam.iterations.assign(step)
        rates.append(float(adam.learning_rate))
    assert rates == [0.5, 0.5, 0.25, 0.125]  # stairs, one an epoch


def rates_of(optimizer, model, steps):
    optimizer.build(model.trainable_variables)
    found = []
    for step in steps:
        optimizer.iterations.assign(step)
        found.append(float(optimizer.learning_rate))
    return found


def test_a_learning_rate_may_rise_first_and_fall_by_the_last_epoch():
    model = make_model()
    given = {"learning_rate": 1.0, "warmup_steps": 4, "epochs": 3}
    optimizer = make_optimizer(options(**given), model, 8)
    assert rates_of(optimizer, model, (0, 1, 3, 9, 99)) == [0.25, 0.5, 1.0, 1.0, 1.0]
    optimizer = make_optimizer(options(schedule="linear", **given), model, 8)
    assert rates_of(optimizer, model, (1, 3, 14, 19, 24)) == [0.5, 1.0, 0.5, 0.25, 0.0]
    factor = tf.Variable(0.5)
    optimizer = make_optimizer(options(**given), model, 8, factor)
    assert rates_of(optimizer, model, (1, 9)) == [0.25, 0.5]
    with pytest.raises(ValueError, match="--decay goes alone"):
        optimizer_options.check(options(decay=0.9, **given))


def test_l2_is_a_part_of_the_loss_and_leaves_biases_alone():
    model = make_model()
    optimizer_options.penalize(model, 0.25)
    kernel, bias = model.trainable_variables
    kernel.assign([[2.0], [4.0]])
    bias.assign([3.0])
    with tf.GradientTape() as tape:
        loss = sum(model.losses)
    assert float(loss) == 0.25 / 2 * (4 + 16)
    gradients = tape.gradient(loss, [kernel.value, bias.value])
    np.testing.assert_allclose(gradients[0], [[0.5], [1.0]])  # l2 * w
    assert gradients[1] is None


def test_averages_are_taken_by_every_part_of_the_optimizer():
    model = named("embedder/word_embeddings", "rest")
    optimizer = make_optimizer(options(embedding_learning_rate=0.5, average=0.9), model, 10)
    assert [(part.use_ema, part.ema_momentum) for part in optimizer.optimizers] == [(True, 0.9)] * 2
    assert not make_optimizer(options(), model, 10).use_ema
    assert make_optimizer(options(average=0.9), model, 10).default.use_ema


def test_weight_decay_leaves_biases_alone():
    model = make_model()
    optimizer = make_optimizer(options(weight_decay=0.1, learning_rate=0.5), model, 10)
    kernel, bias = model.trainable_variables
    kernel.assign([[2.0], [2.0]])
    bias.assign([2.0])
    optimizer.apply([tf.zeros([2, 1]), tf.zeros([1])], [kernel, bias])
    np.testing.assert_allclose(kernel, [[1.9], [1.9]], atol=1e-6)  # 2 - 0.5 * 0.1 * 2
    np.testing.assert_array_equal(bias, [2.0])


def named(*paths):
    """What stands for a model with weights of these paths."""
    weights = [types.SimpleNamespace(path=path) for path in paths]
    return types.SimpleNamespace(trainable_variables=weights)


def test_word_vectors_a_fine_tuned_bilm_and_a_linear_model_have_learning_rates_of_their_own():
    bilm = "token_encoder/characters", "bilstm/forward/kernel_0", "bilstm/backward/bias_1"
    linear, rest = ["linear/unigrams", "linear/trigrams"], ["mix_0/gamma", "bilstm_0/kernel"]
    model = named("embedder/word_embeddings", *bilm, *rest, *linear)
    rates = {"embedding_learning_rate": 0.5, "linear_learning_rate": 0.25}
    optimizer = make_optimizer(options(**rates), model, 10)
    split = [[model.trainable_variables[i].path for i in part] for part in optimizer._split(
        model.trainable_variables
    )]  # fmt: skip
    rates = [round(float(part.learning_rate), 6) for part in optimizer.optimizers]
    assert dict(zip(rates, split, strict=True)) == {
        0.5: ["embedder/word_embeddings"],
        0.0001: list(bilm),
        0.25: linear,
        0.001: rest,
    }
    assert type(make_optimizer(options(), named("embedder/word_embeddings"), 1)) is (FusedAdam)


def test_the_lower_a_block_of_a_bert_the_smaller_its_steps():
    bert = tiny_bert.make_encoder(tiny_bert.pieces("a"))
    model = Tagger(PieceEncoder(bert, 2, 3), ["A", "B"], name="tagger")

    def rates(**given):
        optimizer = make_optimizer(options(bert="runs/bert", **given), model, 10)
        found = {}
        split = optimizer._split(model.trainable_variables)
        for part, members in zip(optimizer.optimizers, split, strict=True):
            for i in members:
                name = model.trainable_variables[i].path.split("/")[0]
                found.setdefault(name, set()).add(round(float(part.learning_rate), 6))
        return found

    tables = "token_embedding", "positions", "segments", "embedding_norm"
    expected = {"block_1": {0.1}, "pooler_dense": {0.1}, "block_0": {0.05}, "tagger": {0.001}}
    expected |= {name: {0.025} for name in tables} | {"crf": {0.001}}
    assert rates(bert_learning_rate=0.1, layer_decay=0.5) == expected
    freeze_blocks(bert, 1)
    expected = {"block_1": {0.01}, "pooler_dense": {0.01}, "tagger": {0.01}, "crf": {0.01}}
    assert rates(learning_rate=0.01, layer_decay=0.5) == expected


def test_weight_decay_leaves_the_layer_norms_of_a_bert_alone():
    model = tiny_bert.make_encoder(tiny_bert.pieces("a"))
    optimizer = make_optimizer(options(bert="b", weight_decay=0.1, learning_rate=0.5), model, 10)
    before = {v.path: v.numpy() for v in model.trainable_variables}
    gradients = [tf.zeros(v.shape) for v in model.trainable_variables]
    optimizer.apply(gradients, model.trainable_variables)
    for v in model.trainable_variables:
        is_left = v.path.endswith(("bias", "gamma", "beta"))
        np.testing.assert_allclose(v, before[v.path] * (1 if is_left else 0.95), rtol=1e-5)


def test_a_bilstm_over_characters_is_no_bilm():
    layer = CharLSTMEncoder(2, name="character_encoder")
    layer.build((None, None, 9))
    paths = [weight.path for weight in layer.trainable_weights]
    assert any("bilstm/forward" in path for path in paths)
    assert not isinstance(make_optimizer(options(), named(*paths), 1), GroupedOptimizer)
