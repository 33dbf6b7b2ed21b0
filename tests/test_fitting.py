"""Training by epochs: order of the data, the best model, early stopping, exact resumption."""

import argparse
import json
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tfreps import fitting
from tfreps.callbacks import EpochLog
from tfreps.fitting import OPTIONS, fit_epochs, make_optimizer
from tfreps.layers import CharLSTMEncoder
from tfreps.models import PieceEncoder, Tagger
from tfreps.optimizers import GroupedOptimizer
from tfreps.pretrained_encoder import freeze_blocks
from tfreps.run_folder import RunFolder
from tfreps.schedules import CutRate


class Batches:
    """Rows of two numbers and their sum, in an order of each epoch; 5, 4, 5, ... batches."""

    num_tokens = 40

    def __init__(self):
        self.x = np.random.default_rng(0).normal(size=[10, 4, 2]).astype("float32")
        self.begun = []

    def num_batches(self, epoch):
        return 5 - epoch % 2

    def dataset(self, epoch=0, first_batch=0):
        self.begun.append(epoch)
        x = np.roll(self.x, epoch, axis=0)[first_batch : self.num_batches(epoch)]
        return tf.data.Dataset.from_tensor_slices((x, x.sum(-1, keepdims=True)))


class Killed(Exception):
    pass


def make_model():
    keras.utils.set_random_seed(1)
    line = keras.layers.Dense(1, kernel_initializer="zeros")
    model = keras.Sequential([keras.Input([2]), keras.layers.Dropout(0.3, seed=2), line])
    model.compile(keras.optimizers.Adam(0.1), "mse", metrics=["mae"])
    return model


def make_run(folder):
    saved = []
    folder.mkdir(exist_ok=True)
    return types.SimpleNamespace(
        checkpoints_path=folder / "checkpoints",
        logs_path=folder,
        save_model=lambda model: saved.append(model.layers[-1].kernel.numpy().ravel()),
        saved=saved,
    )


def fit(run, model=None, epochs=4, **options):
    model, batches = model or make_model(), Batches()
    options = {"checkpoint_every": 2, "larger_is_better": False, **options}
    result = fit_epochs(model, batches, Batches(), run, epochs, "mae", **options)
    return model, batches, result


def lines(folder):
    found = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
    hidden = {"training/tokens_per_second"}
    return [{k: v for k, v in line.items() if k not in hidden} for line in found]


def test_the_best_model_is_kept_and_epochs_differ(tmp_path):
    run = make_run(tmp_path)
    model, batches, result = fit(run)
    assert batches.begun == [0, 1, 2, 3] and result["steps"] == 5 + 4 + 5 + 4
    validation = [line["mae"] for line in lines(tmp_path) if line["run"] == "validation"]
    assert len(validation) == 4 and result["mae"] == min(validation)
    better = [v for n, v in enumerate(validation) if v == min(validation[: n + 1])]
    assert len(run.saved) == len(better)


def test_training_ends_when_nothing_gets_better(tmp_path):
    run, model = make_run(tmp_path), make_model()
    model.optimizer.learning_rate = 0.0
    _, batches, result = fit(run, model, epochs=9, patience=2)
    assert batches.begun == [0, 1, 2] and result["step"] == 5 and result["waited"] == 2
    _, batches, again = fit(run, make_model(), epochs=9, patience=2, resume=True)
    assert batches.begun == [0] and again == result  # it had waited enough before


@pytest.mark.parametrize("step", [1, 6, 9])
def test_a_killed_run_ends_as_if_nothing_had_happened(tmp_path, monkeypatch, step):
    whole_run = make_run(tmp_path / "whole")
    whole, _, result = fit(whole_run)
    run, goes_on = make_run(tmp_path / "torn"), EpochLog.on_train_batch_end

    def dies(log, batch, logs=None):
        if log.checkpoints.step == step:
            raise Killed
        goes_on(log, batch, logs)

    monkeypatch.setattr(EpochLog, "on_train_batch_end", dies)
    with pytest.raises(Killed):
        fit(run)
    monkeypatch.undo()
    model, _, again = fit(run, resume=True)
    assert again == result and lines(tmp_path / "torn") == lines(tmp_path / "whole")
    for ours, theirs in zip(model.variables, whole.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_minutes_end_a_run_that_can_go_on(tmp_path):
    run = make_run(tmp_path)
    _, _, result = fit(run, minutes=1e-9)
    assert result["steps"] == 1
    model, _, result = fit(run, resume=True)
    whole, _, expected = fit(make_run(tmp_path / "whole"))
    assert result["steps"] == expected["steps"] == 18
    np.testing.assert_array_equal(model.layers[-1].kernel, whole.layers[-1].kernel)


def options(**given):
    defaults = {name: option.default for name, option in OPTIONS.items()}
    return argparse.Namespace(**{**defaults, "resume": False, **given})


def test_the_optimizer_is_what_the_options_say():
    model = make_model()
    adam = make_optimizer(options(learning_rate=0.5, clip_norm=2.0), model, 10)
    assert type(adam) is keras.optimizers.Adam and adam.global_clipnorm == 2.0
    assert float(adam.learning_rate) == 0.5 and adam.weight_decay is None
    assert make_optimizer(options(clip_norm=0.0), model, 10).global_clipnorm is None
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
        fitting.check(options(decay=0.9, **given))


def test_only_a_run_whose_rate_stays_may_get_more_epochs():
    assert "epochs" in fitting.may_change(options())
    assert "epochs" not in fitting.may_change(options(schedule="linear"))


def test_l2_is_a_part_of_the_loss_and_leaves_biases_alone():
    model = make_model()
    fitting.penalize(model, 0.25)
    kernel, bias = model.trainable_variables
    kernel.assign([[2.0], [4.0]])
    bias.assign([3.0])
    with tf.GradientTape() as tape:
        loss = sum(model.losses)
    assert float(loss) == 0.25 / 2 * (4 + 16)
    gradients = tape.gradient(loss, [kernel.value, bias.value])
    np.testing.assert_allclose(gradients[0], [[0.5], [1.0]])  # l2 * w
    assert gradients[1] is None


def test_a_run_with_cuts_ends_as_if_it_had_not_been_killed(tmp_path):
    def run_one(folder, **given):
        model, factor = make_model(), tf.Variable(1.0)
        model.compile(keras.optimizers.Adam(CutRate(5.0, factor)), "mse", metrics=["mae"])
        more = {"patience": 9, "rate_factor": factor, "plateau_decay": 0.5, **given}
        result = fit(make_run(folder), model, **more)[2]
        return model, factor, result

    model, factor, result = run_one(tmp_path / "whole", epochs=6)
    assert result["cuts"] >= 1 and float(factor) == 0.5 ** result["cuts"]
    run_one(tmp_path / "torn", epochs=4)
    again, later, same = run_one(tmp_path / "torn", epochs=6, resume=True)
    assert same == result and float(later) == float(factor)
    for ours, theirs in zip(again.variables, model.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_a_run_with_averages_ends_as_if_it_had_not_been_killed(tmp_path):
    def run_one(folder, **given):
        model = make_model()
        adam = keras.optimizers.Adam(0.1, use_ema=True, ema_momentum=0.9)
        model.compile(GroupedOptimizer(adam, {}), "mse", metrics=["mae"])
        run = make_run(folder)
        return model, run, fit(run, model, average=True, **given)[2]

    model, whole, result = run_one(tmp_path / "whole", epochs=4)
    run_one(tmp_path / "torn", epochs=2)
    again, torn, same = run_one(tmp_path / "torn", epochs=4, resume=True)
    assert same == result
    np.testing.assert_array_equal(torn.saved[-1], whole.saved[-1])
    assert (torn.saved[-1] != again.layers[-1].kernel.numpy().ravel()).all()
    for ours, theirs in zip(again.variables, model.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


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


def test_word_vectors_and_a_fine_tuned_bilm_have_learning_rates_of_their_own():
    bilm = "token_encoder/characters", "bilstm/forward/kernel_0", "bilstm/backward/bias_1"
    model = named("embedder/word_embeddings", *bilm, "mix_0/gamma", "bilstm_0/forward_kernel")
    optimizer = make_optimizer(options(embedding_learning_rate=0.5), model, 10)
    split = [[model.trainable_variables[i].path for i in part] for part in optimizer._split(
        model.trainable_variables
    )]  # fmt: skip
    rates = [round(float(part.learning_rate), 6) for part in optimizer.optimizers]
    assert dict(zip(rates, split, strict=True)) == {
        0.5: ["embedder/word_embeddings"],
        0.0001: list(bilm),
        0.001: ["mix_0/gamma", "bilstm_0/forward_kernel"],
    }
    assert type(make_optimizer(options(), named("embedder/word_embeddings"), 1)) is (
        keras.optimizers.Adam
    )


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


class Counted(Batches):
    num_sentences = 10

    def num_batches(self, epoch=0):
        return super().num_batches(epoch)


def test_fit_keeps_what_was_trained_and_refuses_other_data_on_resuming(tmp_path):
    def fit_one(batches, **given):
        model = make_model()
        model.compile("sgd", "mse", metrics=["mae"])
        compiled, model.compile = [], lambda *a, **k: compiled.append((a, k))
        result = fitting.fit(model, batches, Counted(), run, "mae", options(**given))
        assert compiled[0][1] == {"jit_compile": False}
        return result

    run = RunFolder.create(tmp_path / "run", "train-tagger", {})
    assert fit_one(Counted(), epochs=1)["steps"] == 5
    expected = {"sentences": 10, "tokens": 40, "parameters": 3}
    assert run.results() == {"training": expected}
    assert fit_one(Counted(), epochs=2, resume=True)["steps"] == 9
    other = Counted()
    other.num_tokens = 39
    with pytest.raises(ValueError, match="trained 10 sentences, 40 tokens, 3 parameters, and now"):
        fit_one(other, epochs=3, resume=True)
    assert run.results() == {"training": expected}


def test_preparing_sets_precision_and_seed():
    fitting.prepare(options(precision="bfloat16", seed=3))
    assert keras.config.dtype_policy().name == "mixed_bfloat16"
    first = np.random.rand()
    fitting.prepare(options(seed=3))
    assert keras.config.dtype_policy().name == "float32" and np.random.rand() == first
