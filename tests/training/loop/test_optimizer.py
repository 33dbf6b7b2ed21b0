"""Tests the optimizer: learning rates of parts, schedules, decay, L2 and averages."""

import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.closeness import assert_close
from tests.line_model import make_model, options
from tests.tiny_run import make_pretrainer
from tfreps._src.cli.option_rules import check_rules
from tfreps._src.runs.bert_parts import freeze_layers
from tfreps.models import (
    BiGRUEncoder,
    BiLSTMEncoder,
    Elmo,
    LinearEncoder,
    PieceEncoder,
    Tagger,
    TokenEmbedder,
)
from tfreps.optimizers import FusedAdam, GroupedOptimizer
from tfreps.training.loop.optimizer import make_optimizer, penalize
from tfreps.training.options.training_options import OPTIMIZER


def test_the_optimizer_is_what_the_options_say():
    model = make_model()
    adam = make_optimizer(options(learning_rate=0.5, clip_norm=2.0), model, 10)
    assert type(adam) is FusedAdam and adam.global_clipnorm == 2.0
    assert float(adam.learning_rate) == 0.5 and adam.weight_decay is None
    assert make_optimizer(options(clip_norm=0.0), model, 10).global_clipnorm is None
    grouped = make_optimizer(options(clip_norm=2.0, ema_momentum=0.5), model, 10)
    assert grouped.global_clipnorm == 2.0 and grouped.default.global_clipnorm is None
    adam = make_optimizer(options(learning_rate=0.5, decay=0.5), model, 10)
    adam.build(model.trainable_variables)
    rates = []
    for step in (0, 9, 10, 25):
        adam.iterations.assign(step)
        rates.append(float(adam.learning_rate))
    assert rates == [0.5, 0.5, 0.25, 0.125]  # one step per epoch


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
    for clash, words in (({"warmup_steps": 4}, "--warmup-steps"), ({}, "--schedule linear")):
        given = {"decay": 0.9, "schedule": "linear", **clash}
        with pytest.raises(ValueError, match=f"--decay cannot be combined with {words}"):
            check_rules(options(**given), OPTIMIZER)


def test_l2_is_a_part_of_the_loss_and_leaves_biases_alone():
    model = make_model()
    penalize(model, 0.25)
    kernel, bias = model.trainable_variables
    kernel.assign([[2.0], [4.0]])
    bias.assign([3.0])
    with tf.GradientTape() as tape:
        loss = sum(model.losses)
    assert float(loss) == 0.25 / 2 * (4 + 16)
    gradients = tape.gradient(loss, [kernel.value, bias.value])
    assert_close(gradients[0], [[0.5], [1.0]])  # l2 * w
    assert gradients[1] is None


def test_an_l2_penalty_leaves_out_the_biases_of_a_gru():
    encoder = BiGRUEncoder(embedder(), 3)
    penalize(encoder, 0.25)
    found = {w.path.rpartition("/")[2] for w in encoder.trainable_weights if w.regularizer}
    kernels = {
        f"{way}_{kind}"
        for way in ("forward", "backward")
        for kind in ("kernel", "recurrent_kernel")
    }
    assert found == {"word_embeddings", *kernels}


def test_averages_are_taken_by_every_part_of_the_optimizer():
    model = Tagger(embedder(), ["A", "B"])
    optimizer = make_optimizer(options(embedding_learning_rate=0.5, ema_momentum=0.9), model, 10)
    assert [(part.use_ema, part.ema_momentum) for part in optimizer.optimizers] == [(True, 0.9)] * 2
    assert not make_optimizer(options(), model, 10).use_ema
    assert make_optimizer(options(ema_momentum=0.9), model, 10).default.use_ema


def test_weight_decay_leaves_biases_alone():
    model = make_model()
    optimizer = make_optimizer(options(weight_decay=0.1, learning_rate=0.5), model, 10)
    kernel, bias = model.trainable_variables
    kernel.assign([[2.0], [2.0]])
    bias.assign([2.0])
    optimizer.apply([tf.zeros([2, 1]), tf.zeros([1])], [kernel, bias])
    assert_close(kernel, [[1.9], [1.9]])  # 2 - 0.5 * 0.1 * 2
    np.testing.assert_array_equal(bias, [2.0])


def split(optimizer, model):
    """Returns a dict of learning rate -> paths of its variables."""
    weights, found = model.trainable_variables, {}
    for part, members in zip(optimizer.optimizers, optimizer._split(weights), strict=True):
        rate = round(float(part.learning_rate), 6)
        found.setdefault(rate, []).extend(weights[i].path for i in members)
    return found


def embedder(**more):
    return TokenEmbedder(vocabulary_size=9, embedding_dim=4, name="embedder", **more)


def test_word_vectors_a_fine_tuned_bilm_and_a_linear_model_have_learning_rates_of_their_own():
    elmo = Elmo(make_pretrainer().bilm, dropout=0.0, fine_tune=True, name="elmo")
    encoder = BiLSTMEncoder(embedder(elmo=elmo), 3, name="encoder")
    model = Tagger(encoder, ["A", "B"], linear=LinearEncoder(9, 2, name="linear"), name="tagger")
    rates = {"embedding_learning_rate": 0.5, "linear_learning_rate": 0.25}
    found = split(make_optimizer(options(**rates), model, 10), model)
    assert found.pop(0.5) == [encoder.embedder.word_embeddings.path]
    assert found.pop(0.0001) == [v.path for v in elmo.bilm.trainable_variables]
    assert found.pop(0.25) == [v.path for v in model.linear.trainable_variables]
    assert any("rnn_0" in path for path in found[0.001]) and list(found) == [0.001]
    total = len(model.trainable_variables)
    assert len(found[0.001]) == total - 1 - len(elmo.bilm.trainable_variables) - len(
        model.linear.trainable_variables
    )
    plain = Tagger(embedder(elmo=Elmo(make_pretrainer().bilm, dropout=0.0)), ["A", "B"])
    assert type(make_optimizer(options(), plain, 1)) is FusedAdam  # the biLM is frozen


def test_the_lower_a_block_of_a_bert_the_smaller_its_steps():
    bert = tiny_bert.make_encoder(tiny_bert.pieces("a"))
    model = Tagger(PieceEncoder(bert, 2, 3), ["A", "B"], name="tagger")

    def rates(**given):
        optimizer, found = make_optimizer(options(bert="runs/bert", **given), model, 10), {}
        for rate, paths in split(optimizer, model).items():
            for path in paths:
                found.setdefault(path.split("/")[0], set()).add(rate)
        return found

    tables = "token_embedding", "positions", "segments", "embedding_norm"
    expected = {"block_1": {0.1}, "pooler_dense": {0.1}, "block_0": {0.05}, "tagger": {0.001}}
    expected |= {name: {0.025} for name in tables} | {"crf": {0.001}}
    assert rates(bert_learning_rate=0.1, layer_decay=0.5) == expected
    freeze_layers(bert, 1)
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
        assert_close(v, before[v.path] * (1 if is_left else 0.95))


def test_a_bilstm_over_characters_is_no_bilm():
    model = Tagger(embedder(characters="bilstm", character_dim=3), ["A", "B"])
    assert any("bilstm/forward" in v.path for v in model.trainable_variables)
    assert not isinstance(make_optimizer(options(), model, 1), GroupedOptimizer)
