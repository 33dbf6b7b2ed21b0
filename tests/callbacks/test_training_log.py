"""Figures and progress of a language model, on a tiny model."""

import json
import types

import numpy as np
import pytest

from tests.callbacks.line import checkpoints_in, fit, make_model
from tfreps.callbacks import TrainingLog, training_log


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


def test_a_terminal_sees_the_pace_between_two_figures(tmp_path, monkeypatch, capsys):
    """Of 10 tokens in 5 seconds, with the last figure that there is."""
    now = [0.0]
    monkeypatch.setattr(training_log, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    checkpoints = checkpoints_in(tmp_path)
    log = TrainingLog(tmp_path, 10, 100, checkpoints, every=2)
    log.set_model(make_model())
    log.model.optimizer.build(log.model.trainable_variables)
    log.on_train_begin()
    for step in range(3):
        now[0] += 5.0
        log.on_train_batch_end(step, {"sampled_perplexity": 7.0})
        checkpoints.step += 1
    assert capsys.readouterr().err.split("\r\033[K") == [
        "",
        "step 1 of 100 | 2 tokens/s | 8:15 left",
        "step 2 of 100 | sampled perplexity 7.0 | 2 tokens/s | 8:10 left",
        "step 3 of 100 | sampled perplexity 7.0 | 2 tokens/s | 8:05 left",
    ]


def test_tokens_per_second_count_training_alone(tmp_path, monkeypatch):
    """A clock that ticks once a look; an hour passes between two epochs."""
    now, written = [0.0], {}
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(training_log, "time", clock)
    checkpoints = checkpoints_in(tmp_path)
    log = TrainingLog(tmp_path, 10, 100, checkpoints, every=2)
    monkeypatch.setattr(log, "write", lambda run, step, figures: written.update({step: figures}))
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
