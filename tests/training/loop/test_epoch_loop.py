"""Tests the epoch loop: best model, patience, interruptions, signals, rates, averages."""

import json
import os
import signal
import types

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.line_model import make_model
from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint
from tfreps._src.callbacks.stop_signals import Stopped, is_stop_requested, stopped_by_signals
from tfreps.callbacks import EpochLog, ReduceLearningRate, WeightAverages
from tfreps.optimizers import GroupedOptimizer, ReducibleLearningRate
from tfreps.training.loop.epoch_loop import FitPlan, fit_epochs

pytestmark = pytest.mark.usefixtures("eager_if_quick")


class Batches:
    """Rows of two numbers and their sum, shuffled per epoch; 5, 4, 5, ... batches."""

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


def make_run(folder):
    saved, results = [], folder / "results.json"
    folder.mkdir(exist_ok=True)
    return types.SimpleNamespace(
        is_writer=True,
        path=folder,
        results_path=results,
        results=lambda: json.loads(results.read_text()) if results.exists() else {},
        write_results=lambda found: results.write_text(json.dumps(found)),
        write_options=lambda: None,
        checkpoints_path=folder / "checkpoints",
        logs_path=folder,
        save_model=lambda model: saved.append(model.layers[-1].kernel.numpy().ravel()),
        saved=saved,
    )


def fit(run, model=None, epochs=4, callbacks=(), **options):
    model, batches = model or make_model(), Batches()
    plan = FitPlan(epochs, "val_mae", **{"checkpoint_every": 2, **options})
    callbacks = [EpochLog(run.logs_path, epochs, batches.num_tokens), *callbacks]
    result = fit_epochs(model, batches, Batches(), run, plan, callbacks)
    return model, batches, result


def fit_averages(run, **options):
    model = make_model()
    adam = keras.optimizers.Adam(0.1, use_ema=True, ema_momentum=0.9)
    model.compile(GroupedOptimizer(adam, {}), "mse", metrics=["mae"])
    return fit(run, model, callbacks=[WeightAverages(run.save_model)], **options)


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


@pytest.mark.slow
def test_training_ends_when_nothing_gets_better(tmp_path):
    run, model = make_run(tmp_path), make_model()
    model.optimizer.learning_rate = 0.0
    _, batches, result = fit(run, model, epochs=9, patience=2)
    assert batches.begun == [0, 1, 2]
    assert result["step"] == 5 and result["epochs_without_improvement"] == 2
    _, batches, again = fit(run, make_model(), epochs=9, patience=2, resume=True)
    assert batches.begun == [0] and again == result  # its patience was exhausted before


@pytest.mark.few(1)
@pytest.mark.parametrize("step", [6, 1, 9])
def test_a_killed_run_ends_as_if_nothing_had_happened(tmp_path, monkeypatch, step):
    whole_run = make_run(tmp_path / "whole")
    whole, _, result = fit(whole_run)
    run, goes_on = make_run(tmp_path / "torn"), EpochLog.on_train_batch_end

    def dies(log, batch, logs=None):
        if log.step == step + 1:
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


@pytest.mark.slow
def test_minutes_end_a_run_that_can_go_on(tmp_path):
    run = make_run(tmp_path)
    _, _, result = fit(run, time_limit_minutes=1e-9)
    assert result["steps"] == 1 and len(run.saved) == 1  # there is no better one
    assert run.results() == {"unfinished": {"unit": "epoch", "done": 0, "planned": 4}}
    model, _, result = fit(run, resume=True)
    assert run.results() == {}
    whole, _, expected = fit(make_run(tmp_path / "whole"))
    assert result["steps"] == expected["steps"] == 18
    np.testing.assert_array_equal(model.layers[-1].kernel, whole.layers[-1].kernel)


@pytest.mark.slow
def test_an_epoch_in_several_parts_is_judged_once(tmp_path):
    """Metrics, lines and epochs without improvement do not depend on the interruptions."""
    whole = make_run(tmp_path / "whole")
    _, _, expected = fit(whole, still(), epochs=3, patience=3)
    run = make_run(tmp_path / "parts")
    for step in range(1, 5):
        assert fit(run, still(), epochs=3, patience=3, time_limit_minutes=1e-9, resume=True)[2] == {
            "steps": step
        }
    assert not (tmp_path / "parts" / "history.jsonl").exists()
    assert fit(run, still(), epochs=3, patience=3, resume=True)[2] == expected
    assert expected["epochs_without_improvement"] == 2
    assert lines(tmp_path / "parts") == lines(tmp_path / "whole")


def still():
    model = make_model()
    model.optimizer.learning_rate = 0.0
    return model


def asks(monkeypatch, kind, moment, step):
    """Simulates a signal at a given moment of a callback, such as the end of a training batch."""
    name = f"on_{moment}"
    goes_on = getattr(kind, name)

    def wrapped(callback, *arguments, **options):
        done = callback.step - (moment == "train_batch_end")
        if done == step and not is_stop_requested():
            os.kill(os.getpid(), signal.SIGTERM)
        goes_on(callback, *arguments, **options)

    monkeypatch.setattr(kind, name, wrapped)


@pytest.mark.slow
@pytest.mark.parametrize(
    "average, moment, step",
    [
        (True, "train_batch_end", 5),  # in the second epoch
        (False, "epoch_begin", 0),  # before the first step
        (False, "train_batch_end", 8),  # before the last step of the second epoch
        (False, "test_begin", 9),
        (True, "test_begin", 9),  # evaluated with the averages, saved without
        (False, "epoch_end", 9),  # the model can be saved, but not the checkpoint
        (False, "epoch_end", 18),  # no training is left
    ],
)
def test_a_signal_ends_a_run_that_goes_on_bit_by_bit(tmp_path, monkeypatch, average, moment, step):
    run_one = fit_averages if average else fit
    whole_run, run = make_run(tmp_path / "whole"), make_run(tmp_path / "stopped")
    whole, _, result = run_one(whole_run)
    asks(monkeypatch, EpochLog, moment, step)
    with pytest.raises(Stopped, match="stopped by SIGTERM at step") as raised:
        with stopped_by_signals():
            run_one(run)
    monkeypatch.undo()
    expected = step + (moment in ("epoch_begin", "train_batch_end"))
    assert str(raised.value) == f"stopped by SIGTERM at step {expected}."
    latest, _, state = load_latest_checkpoint(run.checkpoints_path)
    is_measuring = expected == 9 and moment != "epoch_end"
    assert latest == expected and bool(state["pending_metrics"]) == is_measuring
    model, _, again = run_one(run, resume=True)
    assert again == result and lines(tmp_path / "stopped") == lines(tmp_path / "whole")
    saved, kept = run.saved[-1], whole_run.saved[-1]
    np.testing.assert_array_equal(saved, kept)
    for ours, theirs in zip(model.variables, whole.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    arrays, others = (load_latest_checkpoint(r.checkpoints_path)[1] for r in (run, whole_run))
    for name, array in others.items():
        np.testing.assert_array_equal(arrays[name], array)


@pytest.mark.slow
def test_a_run_with_reductions_ends_as_if_it_had_not_been_killed(tmp_path):
    def run_one(folder, **given):
        model, scale = make_model(), tf.Variable(1.0)
        model.compile(
            keras.optimizers.Adam(ReducibleLearningRate(5.0, scale)), "mse", metrics=["mae"]
        )
        reduce = ReduceLearningRate(scale, 0.5, "val_mae")
        result = fit(make_run(folder), model, callbacks=[reduce], patience=9, **given)[2]
        return model, scale, result

    model, scale, result = run_one(tmp_path / "whole", epochs=6)
    reductions = result["learning_rate_reductions"]
    assert reductions >= 1 and float(scale) == 0.5**reductions
    run_one(tmp_path / "torn", epochs=4)
    again, later, same = run_one(tmp_path / "torn", epochs=6, resume=True)
    assert same == result and float(later) == float(scale)
    for ours, theirs in zip(again.variables, model.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.slow
def test_a_run_with_averages_ends_as_if_it_had_not_been_killed(tmp_path):
    def run_one(folder, **given):
        run = make_run(folder)
        model, _, result = fit_averages(run, **given)
        return model, run, result

    model, whole, result = run_one(tmp_path / "whole", epochs=4)
    run_one(tmp_path / "torn", epochs=2)
    again, torn, same = run_one(tmp_path / "torn", epochs=4, resume=True)
    assert same == result
    np.testing.assert_array_equal(torn.saved[-1], whole.saved[-1])
    assert (torn.saved[-1] != again.layers[-1].kernel.numpy().ravel()).all()
    for ours, theirs in zip(again.variables, model.variables, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_a_resumed_run_cannot_be_shorter_than_it_is(tmp_path):
    run, model = make_run(tmp_path), make_model()
    fit(run, model, epochs=2)
    assert fit(run, model, epochs=2, resume=True)[2]["steps"] == 9
    with pytest.raises(ValueError, match="epochs must be at least 2, .* already finished; got 1"):
        fit(run, model, epochs=1, resume=True)


def test_results_say_how_far_an_unfinished_run_has_come(tmp_path, monkeypatch, caplog):
    run, model, seen = make_run(tmp_path), make_model(), []
    run.write_results({"training": {"tokens": 40}})
    write, goes_on = run.write_results, EpochLog.on_train_batch_end
    run.write_results = lambda found: (seen.append(found.get("unfinished")), write(found))

    def dies(log, batch, logs=None):
        if log.step == 12:
            raise Killed
        goes_on(log, batch, logs)

    monkeypatch.setattr(EpochLog, "on_train_batch_end", dies)
    with pytest.raises(Killed):
        fit(run, model)
    expected = [{"unit": "epoch", "done": done, "planned": 4} for done in range(4)]
    assert seen == expected[:3] and run.results()["training"] == {"tokens": 40}
    monkeypatch.undo()
    fit(run, model, resume=True)
    assert seen == [*expected, None] and run.results() == {"training": {"tokens": 40}}

    def full(found):
        raise OSError(28, "No space left on device")

    run.write_results = full
    assert fit(run, model, epochs=6, resume=True)[2]["steps"] == 27
    assert "could not write" in caplog.text


def test_a_run_that_is_counted_in_steps(tmp_path):
    run, batches = make_run(tmp_path), Batches()
    batches.total_steps = 18
    plan = FitPlan(4, "val_mae", time_limit_minutes=1e-9, evaluate_at_time_limit=True)
    fit_epochs(make_model(), batches, Batches(), run, plan, [EpochLog(run.logs_path)])
    assert run.results() == {"unfinished": {"unit": "step", "done": 1, "planned": 18}}


def test_the_start_is_printed(tmp_path, capsys):
    run, model = make_run(tmp_path), make_model()
    model.layers[-1].bias.trainable = False  # so that 2 of 3 parameters are trained
    for epochs, step in (1, ""), (2, " after step 5"):
        plan = FitPlan(epochs, "val_mae", resume=epochs == 2)
        log = EpochLog(run.logs_path, epochs)
        fit_epochs(model, Batches(), Batches(), run, plan, [log], " on 2 texts")
        verb = "Resuming" if step else "Training"
        assert capsys.readouterr().out.splitlines()[:2] == [
            f"{verb} 2 of 3 parameters in {tmp_path}{step} on 2 texts.",
            f"Watch it with: tensorboard --logdir {tmp_path}",
        ]
