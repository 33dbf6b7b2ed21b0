"""Tests metrics and progress of a language model on a tiny model."""

import json
import types

import numpy as np

from tests.callbacks.line import fit, make_model
from tests.closeness import assert_close
from tfreps._src.callbacks import training_log
from tfreps.callbacks import TrainingLog


def train(folder, steps, epochs=1, **options):
    log = TrainingLog(folder, 10, steps * epochs, **options)
    model = make_model()
    for _ in range(epochs):  # like pretrain-elmo: one `fit` per epoch
        fit(model, steps, [log], start=log.step)
    return model, log


def log_with_ears(folder, total_steps, update_freq=2, **options):
    """Returns a log and the list of its lines."""
    said = []
    say = lambda text, **how: said.append(text)  # noqa: E731
    options |= {"update_freq": update_freq, "print_fn": say}
    return TrainingLog(folder, 10, total_steps, **options), said


def lines(folder):
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


def test_figures_are_means_over_their_windows(tmp_path):
    """There is a point at every second step, and windows end with their epoch."""
    train(tmp_path, 5, epochs=2, update_freq=2)
    single = tmp_path / "single"
    train(single, 5, epochs=2, update_freq=1)
    name = "training/sampled_perplexity"
    each = {line["step"]: line[name] for line in lines(single) if name in line}
    assert list(each) == list(range(1, 11))
    windows = {2: (1, 2), 4: (3, 4), 6: (6,), 8: (7, 8), 10: (9, 10)}
    found = {line["step"]: line[name] for line in lines(tmp_path) if name in line}
    assert list(found) == list(windows)
    for step, window in windows.items():
        assert_close(found[step], np.mean([each[n] for n in window]))


def test_the_pace_is_said_between_two_points(tmp_path, monkeypatch):
    """The speed is 10 tokens in 5 seconds, shown with the latest metric."""
    now = [0.0]
    monkeypatch.setattr(training_log, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    log, said = log_with_ears(tmp_path, 100)
    log.set_model(make_model())
    log.model.optimizer.build(log.model.trainable_variables)
    log.on_train_begin()
    for step in range(3):
        now[0] += 5.0
        log.on_train_batch_begin(step)
        log.on_train_batch_end(step, {"sampled_perplexity": 7.0})
    assert said == [
        "step 1 of 100 | 2 tokens/s | 8:15 left",
        "step 2 of 100 | sampled perplexity 7.0 | 2 tokens/s | 8:10 left",
        "step 3 of 100 | sampled perplexity 7.0 | 2 tokens/s | 8:05 left",
    ]


def test_tokens_per_second_count_training_alone(tmp_path, monkeypatch):
    """A clock that advances with each call; an hour passes between two epochs."""
    now, written = [0.0], {}
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(training_log, "time", clock)
    log, _ = log_with_ears(tmp_path, 100)
    monkeypatch.setattr(log, "_write", lambda run, step, metrics: written.update({step: metrics}))
    log.set_model(make_model())
    log.model.optimizer.build(log.model.trainable_variables)
    for steps in (3, 3):
        now[0] += 3600.0
        log.on_train_begin()
        for step in range(steps):
            now[0] += 5.0
            log.on_train_batch_begin(step)
            log.on_train_batch_end(step, {"sampled_perplexity": 1.0})
    rates = {step: figures["training/tokens_per_second"] for step, figures in written.items()}
    assert rates == {2: 2.0, 4: 2.0, 6: 2.0}  # 10 tokens in 5 seconds


def test_progress(tmp_path):
    said = []
    print_fn = lambda text, progress=False, **_: progress or said.append(text)  # noqa: E731
    train(tmp_path, 4, update_freq=2, print_fn=print_fn)
    first, second = said
    assert first.startswith("step 2 of 4 | sampled perplexity ")
    assert second.endswith(" tokens/s | 0:00 left")


def test_validation_metrics_and_histograms(tmp_path):
    log, said = log_with_ears(tmp_path, 4, update_freq=9, histograms=True)
    log.set_model(make_model())
    log.step = 4
    log.on_epoch_end(0, {"val_perplexity": 2.5, "val_forward_perplexity": 2.0, "loss": 1.0})
    assert lines(tmp_path) == [
        {"step": 4, "run": "validation", "perplexity/forward": 2.0, "perplexity/mean": 2.5}
    ]
    assert said == ["step 4: perplexity validation 2.5"]
    data = b"".join(path.read_bytes() for path in (tmp_path / "train").iterdir())
    assert b"weights/" in data and b"kernel" in data
