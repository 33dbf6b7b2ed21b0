"""Callbacks of training: exact checkpoints, the best model, and figures, on a tiny model."""

import json
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfreps import callbacks
from tfreps.callbacks import BestModel, Checkpoints, TrainingLog
from tfreps.checkpoint import load_latest_checkpoint


class Line(keras.Model):
    """A linear model with dropout; its mean squared error stands for a perplexity."""

    def __init__(self, units):
        super().__init__(name="model")
        self.drop = keras.layers.Dropout(0.5, seed=3)
        self.line = keras.layers.Dense(units, kernel_initializer="ones", name="line")
        self.line.build([None, 2])
        self.perplexity = keras.metrics.Mean(name="sampled_perplexity")
        self.built = True

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.line(self.drop(x, training=True)) - y) ** 2)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        self.perplexity.update_state(loss)
        return {"sampled_perplexity": self.perplexity.result()}


def make_model(units=1, optimizer="adam"):
    model = Line(units)
    model.compile(optimizer)
    return model


def dataset(start=0):
    x = np.random.default_rng(0).normal(size=[64, 1, 2]).astype("float32")
    return tf.data.Dataset.from_tensor_slices((x, x.sum(-1, keepdims=True))).skip(start).repeat()


def fit(model, steps, used, start=0, **options):
    options = {"epochs": 1, "verbose": 0, "shuffle": False, **options}
    model.fit(dataset(start), steps_per_epoch=steps, callbacks=used, **options)


def checkpoints_in(folder, **options):
    return Checkpoints(folder, lambda step: {"line": step}, **options)


def kept(folder):
    return sorted(int(path.stem.removeprefix("step-")) for path in folder.iterdir())


def test_checkpoints_every_so_often_and_at_the_end(tmp_path):
    checkpoints = checkpoints_in(tmp_path, every=3, extra={"best": 2.5})
    fit(make_model(), 7, [checkpoints])
    assert kept(tmp_path) == [6, 7] and checkpoints.step == 7
    _, arrays, state = load_latest_checkpoint(tmp_path)
    assert state == {"position": {"line": 7}, "extra": {"best": 2.5}, "in_epoch": False}
    assert {name.split("/")[0] for name in arrays} == {"model", "metrics", "optimizer"}
    assert any(name.endswith("seed_generator_state") for name in arrays)
    fit(make_model(), 6, [checkpoints_in(tmp_path / "b", every=3)])  # the last step once, not twice
    assert load_latest_checkpoint(tmp_path / "b")[2]["in_epoch"] is False


def test_a_restored_model_goes_on_as_if_nothing_had_happened(tmp_path):
    """Weights, moments, dropout and the running metrics in mid-epoch."""
    whole = make_model()
    fit(whole, 8, [])
    fit(make_model(), 5, [checkpoints_in(tmp_path, every=4)])  # saves at 4, then 5
    (tmp_path / "step-00000005.safetensors").unlink()

    model, extra = make_model(), {}
    model.line.kernel.assign([[9.0], [9.0]])
    checkpoints = checkpoints_in(tmp_path, extra=extra)
    assert checkpoints.restore(model) == {"line": 4} and checkpoints.step == 4
    fit(model, 4, [checkpoints], start=4)
    for ours, theirs in zip(model.variables, whole.variables, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)
    results = [{v.path: float(v) for v in m.metrics_variables} for m in (model, whole)]
    assert list(results[0].values()) == pytest.approx(list(results[1].values()), rel=1e-6)


def test_nothing_to_restore(tmp_path):
    checkpoints = checkpoints_in(tmp_path / "none")
    assert checkpoints.restore(make_model()) is None and checkpoints.step == 0


def test_checkpoints_of_another_model(tmp_path):
    fit(make_model(), 2, [checkpoints_in(tmp_path)])
    with pytest.raises(ValueError, match=r"another model: .*kernel has shape \(2, 1\).* \(2, 3\)"):
        checkpoints_in(tmp_path).restore(make_model(units=3))
    other = make_model(optimizer="sgd")
    with pytest.raises(ValueError, match="belongs to another model or optimiser: .* arrays"):
        checkpoints_in(tmp_path).restore(other)


def test_a_full_disk_does_not_stop_training(tmp_path, monkeypatch, capsys):
    save = callbacks.save_checkpoint

    def full(folder, step, *rest):
        if step == 4:
            raise OSError(28, "No space left on device")
        return save(folder, step, *rest)

    monkeypatch.setattr(callbacks, "save_checkpoint", full)
    fit(make_model(), 5, [checkpoints_in(tmp_path, every=2)])
    assert kept(tmp_path) == [2, 5]
    assert "warning: no checkpoint at step 4: [Errno 28] No space" in capsys.readouterr().err


def best_of(perplexities, save=None):
    """What `BestModel` keeps over epochs with these validation perplexities (None: none)."""
    saved, best = [], {}
    checkpoints = types.SimpleNamespace(step=0)
    callback = BestModel(save or (lambda model: saved.append(checkpoints.step)), best, checkpoints)
    for epoch, perplexity in enumerate(perplexities):
        checkpoints.step += 10
        callback.on_epoch_end(epoch, {} if perplexity is None else {"val_perplexity": perplexity})
    return saved, best


def test_the_best_model():
    assert best_of([5.0, 4.0, 4.0, 4.5, 3.0]) == ([10, 20, 50], {"perplexity": 3.0, "step": 50})
    nan = float("nan")
    assert best_of([nan, 5.0, nan]) == ([20], {"perplexity": 5.0, "step": 20})
    assert best_of([nan]) == ([], {})
    assert best_of([None, None]) == ([10, 20], {})


def test_a_model_that_cannot_be_saved_is_not_the_best(capsys):
    calls = []

    def save(model):
        calls.append(model)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")

    assert best_of([5.0, 3.0, 4.0], save)[1] == {"perplexity": 4.0, "step": 30}
    assert "warning: the model was not saved: [Errno 28]" in capsys.readouterr().err


def train(folder, steps, epochs=1, **options):
    checkpoints = checkpoints_in(folder / "checkpoints")
    log = TrainingLog(folder, 10, steps * epochs, checkpoints, **options)
    model = make_model()
    for _ in range(epochs):  # as pretrain-elmo does: one `fit` an epoch
        fit(model, steps, [log, checkpoints], start=checkpoints.step)
    return model, checkpoints, log


def lines(folder):
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


def test_figures_are_means_over_their_windows(tmp_path):
    """Every second step; a window ends with its epoch."""
    train(tmp_path, 5, epochs=2, every=2)
    single = tmp_path / "single"
    train(single, 5, epochs=2, every=1)
    name = "training/sampled_perplexity"
    each = {line["step"]: line[name] for line in lines(single) if name in line}
    assert list(each) == list(range(1, 11))
    windows = {2: (1, 2), 4: (3, 4), 6: (6,), 8: (7, 8), 10: (9, 10)}
    found = {line["step"]: line[name] for line in lines(tmp_path) if name in line}
    assert list(found) == list(windows)
    for step, window in windows.items():
        assert found[step] == pytest.approx(np.mean([each[n] for n in window]), rel=1e-5)


def test_tokens_per_second_count_training_alone(tmp_path, monkeypatch):
    """A clock that ticks once a look; an hour passes between two epochs."""
    now, written = [0.0], {}
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(callbacks, "time", clock)
    checkpoints = checkpoints_in(tmp_path)
    log = TrainingLog(tmp_path, 10, 100, checkpoints, every=2)
    monkeypatch.setattr(log, "_write", lambda run, step, figures: written.update({step: figures}))
    log.set_model(make_model())
    log.model.optimizer.build(log.model.trainable_variables)
    for steps in (3, 3):
        now[0] += 3600.0
        log.on_train_begin()
        for step in range(steps):
            now[0] += 5.0
            log.on_train_batch_end(step, {"sampled_perplexity": 1.0})
            checkpoints.step += 1
    rates = {step: figures["training/tokens_per_second"] for step, figures in written.items()}
    assert rates == {2: 2.0, 4: 2.0, 6: 2.0}  # 10 tokens in 5 seconds


def test_progress(tmp_path, capsys):
    train(tmp_path, 4, every=2)
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith("step 2 of 4 | sampled perplexity ")
    assert second.endswith(" tokens/s | 0:00 left")


def test_minutes(tmp_path):
    model, checkpoints, _ = train(tmp_path, 9, minutes=1e-9)
    assert checkpoints.step == 1 and model.stop_training


@pytest.mark.parametrize("seconds, text", [(0, "0:00"), (61.9, "1:01"), (7325, "2:02:05")])
def test_the_time_left_is_readable(seconds, text):
    assert callbacks._clock(seconds) == text


def test_history_of_steps_that_come_again_is_dropped(tmp_path):
    path = tmp_path / "history.jsonl"
    path.write_text('{"step": 2, "a": 1}\n{"step": 4, "a": 1}\n{"step": 6, "a": 1}\n{"step": 2, "a')
    checkpoints = checkpoints_in(tmp_path / "checkpoints")
    checkpoints.step = 4
    fit(make_model(), 2, [TrainingLog(tmp_path, 10, 6, checkpoints, every=2), checkpoints])
    assert [line["step"] for line in lines(tmp_path)][:3] == [2, 4, 6]
    assert "training/sampled_perplexity" in lines(tmp_path)[2]
    assert not path.with_name("history.jsonl.tmp").exists()


def test_validation_figures_and_histograms(tmp_path, capsys):
    checkpoints = checkpoints_in(tmp_path / "checkpoints")
    log = TrainingLog(tmp_path, 10, 4, checkpoints, every=9, histograms=True)
    model = make_model()
    log.set_model(model)
    checkpoints.step = 4
    log.on_epoch_end(0, {"val_perplexity": 2.5, "val_forward_perplexity": 2.0, "loss": 1.0})
    assert lines(tmp_path) == [
        {"step": 4, "run": "validation", "perplexity/forward": 2.0, "perplexity/mean": 2.5}
    ]
    assert "step 4: perplexity validation 2.5" in capsys.readouterr().err
    data = b"".join(path.read_bytes() for path in (tmp_path / "train").iterdir())
    assert b"weights/" in data and b"kernel" in data
