"""Figures and progress of a tagger or classifier, on a tiny model."""

import json
import sys
import types

import pytest

from tests.callbacks.line import checkpoints_in, fit, make_model
from tfreps.callbacks import EpochLog, OutOfTime, epoch_log
from tfreps.callbacks.checkpoint_file import load_latest_checkpoint


def train(folder, epochs=2, **options):
    checkpoints = checkpoints_in(folder / "checkpoints")
    log = EpochLog(folder, checkpoints, epochs, tokens_per_epoch=40, **options)
    model = make_model()
    fit(model, 4, [log, checkpoints], epochs=epochs)
    return model, log


def lines(folder):
    return [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]


def test_every_metric_of_every_epoch_is_written(tmp_path):
    train(tmp_path)
    found = lines(tmp_path)
    assert [(line["step"], line["epoch"], line["run"]) for line in found] == [
        (4, 1, "train"),
        (8, 2, "train"),
    ]
    assert all(line["sampled_perplexity"] > 0 for line in found)
    assert found[0]["training/learning_rate"] == pytest.approx(0.001)
    data = b"".join(path.read_bytes() for path in (tmp_path / "train").iterdir())
    assert b"sampled_perplexity" in data and b"training/tokens_per_second" in data


def test_figures_within_an_epoch(tmp_path):
    train(tmp_path, every=3)
    found = [(line["step"], line.get("epoch"), line["run"]) for line in lines(tmp_path)]
    assert found == [(3, None, "train"), (4, 1, "train"), (6, None, "train"), (8, 2, "train")]


def test_validation_has_a_line_and_a_run_of_its_own(tmp_path, capsys):
    log = EpochLog(tmp_path, types.SimpleNamespace(step=4), 3, tokens_per_epoch=40)
    log.set_model(make_model())
    log.set_params({"steps": 4})
    log.on_epoch_begin(0)
    log.on_epoch_end(0, {"loss": 0.5, "val_loss": 0.75, "val_f1": 0.9})
    assert lines(tmp_path)[1] == {
        "step": 4,
        "epoch": 1,
        "run": "validation",
        "loss": 0.75,
        "f1": 0.9,
    }
    said = capsys.readouterr().err
    # without a pace, as no step was done
    assert said == "epoch 1 of 3 | train loss 0.5000 | validation loss 0.7500, f1 0.9000\n"
    with pytest.raises(ValueError, match="Training has diverged: at step 4 the loss is nan"):
        log.on_epoch_end(1, {"loss": float("nan")})


def test_pace_counts_tokens_of_the_epochs_left(tmp_path, monkeypatch, capsys):
    """A clock of our own: 4 batches of 10 tokens, 5 seconds each."""
    now = [0.0]
    monkeypatch.setattr(epoch_log, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    log = EpochLog(tmp_path, types.SimpleNamespace(step=4), 3, tokens_per_epoch=40)
    log.set_model(make_model())
    log.set_params({"steps": 4})
    log.on_epoch_begin(0)
    for batch in range(4):
        now[0] += 5.0
        log.on_train_batch_end(batch, {"loss": 1.0})
    log.on_epoch_end(0, {"loss": 1.0})
    assert log.rate == 2.0
    assert capsys.readouterr().err.rstrip().endswith("2 tokens/s | 0:40 left")  # 80 tokens left


def test_minutes_end_within_an_epoch_by_a_checkpoint(tmp_path):
    with pytest.raises(OutOfTime):
        train(tmp_path, minutes=1e-9)
    step, _, state = load_latest_checkpoint(tmp_path / "checkpoints")
    assert step == 1 and state["in_epoch"]


def test_minutes_end_an_epoch_that_is_over_as_any_other(tmp_path):
    checkpoints = checkpoints_in(tmp_path / "checkpoints")
    log = EpochLog(tmp_path, checkpoints, 2, tokens_per_epoch=40, minutes=1e-9)
    model = make_model()
    fit(model, 1, [log, checkpoints], epochs=2)
    assert model.stop_training and checkpoints.step == 1
    assert not load_latest_checkpoint(tmp_path / "checkpoints")[2]["in_epoch"]


def test_an_epoch_that_goes_on_where_it_was_left(tmp_path, monkeypatch, capsys):
    """Three of its four batches, of 10 tokens and 5 seconds each, were done before."""
    now = [0.0]
    monkeypatch.setattr(epoch_log, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    log = EpochLog(tmp_path, types.SimpleNamespace(step=3), 2, tokens_per_epoch=40)
    log.set_model(make_model())
    log.set_params({"steps": 1})
    log.first_batch = 3
    log.on_epoch_begin(0)
    now[0] += 5.0
    log.on_train_batch_end(0, {"loss": 1.0})
    assert log.rate == 2.0
    assert "batch 4 of 4 | loss 1.0000 | 2 tokens/s | 0:20 left" in capsys.readouterr().err
