"""Tests metrics and progress of a tagger or classifier on a tiny model."""

import json
import types

import pytest

from tests.callbacks.line import fit, make_model
from tests.closeness import assert_close
from tfreps._src.callbacks import epoch_log
from tfreps.callbacks import EpochLog

pytestmark = pytest.mark.usefixtures("eager_if_quick")


def train(folder, epochs=2, **options):
    log = EpochLog(folder, epochs, tokens_per_epoch=40, **options)
    model = make_model()
    fit(model, 4, [log], epochs=epochs)
    return model, log


def log_of(folder, epochs, step, said=None):
    """Returns a log in the middle of a run, and its lines."""
    said = [] if said is None else said
    say = lambda text, final=False, progress=False: said.append(text)  # noqa: E731
    log = EpochLog(folder, epochs, tokens_per_epoch=40, print_fn=say)
    log.step = step
    log.set_model(make_model())
    return log, said


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
    assert_close(found[0]["training/learning_rate"], 0.001)
    data = b"".join(path.read_bytes() for path in (tmp_path / "train").iterdir())
    assert b"sampled_perplexity" in data and b"training/tokens_per_second" in data


def test_figures_within_an_epoch(tmp_path):
    train(tmp_path, update_freq=3)
    found = [(line["step"], line.get("epoch"), line["run"]) for line in lines(tmp_path)]
    assert found == [(3, None, "train"), (4, 1, "train"), (6, None, "train"), (8, 2, "train")]


def test_validation_has_a_line_and_a_run_of_its_own(tmp_path):
    log, said = log_of(tmp_path, 3, step=4)
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
    # no speed, because no step was done
    assert said == ["epoch 1 of 3 | train loss 0.5000 | validation loss 0.7500, f1 0.9000"]
    with pytest.raises(ValueError, match="Training has diverged: at step 4 the loss is nan"):
        log.on_epoch_end(1, {"loss": float("nan")})


def test_pace_counts_tokens_of_the_epochs_left(tmp_path, monkeypatch):
    """Uses a fake clock: 4 batches of 10 tokens, 5 seconds each."""
    now = [0.0]
    monkeypatch.setattr(epoch_log, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    log, said = log_of(tmp_path, 3, step=0)
    log.set_params({"steps": 4})
    log.on_epoch_begin(0)
    for batch in range(4):
        log.on_train_batch_begin(batch)
        now[0] += 5.0
        log.on_train_batch_end(batch, {"loss": 1.0})
    log.on_epoch_end(0, {"loss": 1.0})
    assert log._rate == 2.0
    assert said[-1].endswith("2 tokens/s | 0:40 left")  # 80 tokens left


def test_a_log_alone_knows_where_fit_ends_and_says_no_pace(tmp_path):
    said = []
    log = EpochLog(tmp_path, print_fn=lambda text, final=False, progress=False: said.append(text))
    fit(make_model(), 2, [log], epochs=2)
    assert said[-1].startswith("epoch 2 of 2 | train sampled_perplexity ")
    assert "tokens" not in said[-1]
    data = b"".join(path.read_bytes() for path in (tmp_path / "train").iterdir())
    assert b"sampled_perplexity" in data and b"training/tokens_per_second" not in data


def test_an_epoch_that_goes_on_where_it_was_left(tmp_path, monkeypatch):
    """Three of its four batches, of 10 tokens and 5 seconds each, were done earlier."""
    now = [0.0]
    monkeypatch.setattr(epoch_log, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    log, said = log_of(tmp_path, 2, step=3)
    log.set_params({"steps": 1})
    log.first_batch = 3
    log.on_epoch_begin(0)
    now[0] += 5.0
    log.on_train_batch_end(0, {"loss": 1.0})
    assert log._rate == 2.0
    assert said == ["epoch 1 of 2 | batch 4 of 4 | loss 1.0000 | 2 tokens/s | 0:20 left"]
