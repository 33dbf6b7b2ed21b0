"""Tests exact checkpoints of a tiny model."""

import keras
import numpy as np
import pytest

from tests.callbacks.line import checkpoints_in, fit, make_model
from tests.closeness import assert_close
from tfreps._src.callbacks import checkpoints as checkpoints_module
from tfreps._src.callbacks.checkpoint_file import load_latest_checkpoint
from tfreps.callbacks import BestModel, Checkpoints, TimeLimitReached
from tfreps.optimizers import build_optimizer

pytestmark = pytest.mark.usefixtures("eager_if_quick")


def kept(folder):
    return sorted(int(path.stem.removeprefix("step-")) for path in folder.iterdir())


def test_checkpoints_every_so_often_and_at_the_end(tmp_path):
    keeper = BestModel(lambda model: None, "val_f1")
    keeper.best = {"f1": 2.5}
    checkpoints = checkpoints_in(tmp_path, save_freq=3, callbacks={"best": keeper})
    fit(make_model(), 7, [checkpoints])
    assert kept(tmp_path) == [6, 7] and checkpoints.step == 7
    _, arrays, state = load_latest_checkpoint(tmp_path)
    states = {"best": {"step": 0, "best": {"f1": 2.5}, "wait": 0}}
    expected = {"position": {"line": 7}, "callbacks": states, "in_epoch": False}
    assert state == {**expected, "pending_metrics": None}
    assert {name.split("/")[0] for name in arrays} == {"model", "metrics", "optimizer"}
    assert any(name.endswith("seed_generator_state") for name in arrays)
    fit(make_model(), 6, [checkpoints_in(tmp_path / "b", save_freq=3)])  # the last step only once
    assert load_latest_checkpoint(tmp_path / "b")[2]["in_epoch"] is False


def adam_for_float16():
    return keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam())


@pytest.mark.slow
@pytest.mark.parametrize("optimizer", [keras.optimizers.Adam, adam_for_float16])
def test_a_restored_model_goes_on_as_if_nothing_had_happened(tmp_path, optimizer):
    """Weights, moments, dropout and the running metrics are equal within an epoch."""
    whole = make_model(optimizer=optimizer())
    fit(whole, 8, [])
    fit(
        make_model(optimizer=optimizer()), 5, [checkpoints_in(tmp_path, save_freq=4)]
    )  # saves at 4, then 5
    (tmp_path / "step-00000005.safetensors").unlink()

    model = make_model(optimizer=optimizer())
    build_optimizer(model)  # like the commands
    model.line.kernel.assign([[9.0], [9.0]])
    checkpoints = checkpoints_in(tmp_path)
    assert checkpoints.restore(model) == {"line": 4} and checkpoints.step == 4
    fit(model, 4, [checkpoints], start=4)
    for ours, theirs in zip(model.variables, whole.variables, strict=True):
        assert_close(ours.numpy(), theirs.numpy())
    results = [{v.path: float(v) for v in m.metrics_variables} for m in (model, whole)]
    assert_close(list(results[0].values()), list(results[1].values()))


def test_nothing_to_restore(tmp_path):
    checkpoints = checkpoints_in(tmp_path / "none")
    assert checkpoints.restore(make_model()) is None and checkpoints.step == 0


def test_checkpoints_of_another_model(tmp_path):
    fit(make_model(), 2, [checkpoints_in(tmp_path)])
    with pytest.raises(ValueError, match=r"different model: .*kernel has shape \(2, 1\).*\(2, 3\)"):
        checkpoints_in(tmp_path).restore(make_model(units=3))
    other = make_model(optimizer="sgd")
    with pytest.raises(
        ValueError, match="saved with a different model or optimizer: .* array names"
    ):
        checkpoints_in(tmp_path).restore(other)
    more = make_model()
    more.extra = keras.metrics.Mean(name="extra")
    with pytest.raises(
        ValueError,
        match="with different metrics: 2 of the array names .*, such as metrics/.*/total",
    ):
        checkpoints_in(tmp_path).restore(more)


def test_a_full_disk_does_not_stop_training(tmp_path, monkeypatch, caplog):
    save = checkpoints_module.save_checkpoint

    def full(folder, step, *rest):
        if step == 4:
            raise OSError(28, "No space left on device")
        return save(folder, step, *rest)

    monkeypatch.setattr(checkpoints_module, "save_checkpoint", full)
    fit(make_model(), 5, [checkpoints_in(tmp_path, save_freq=2)])
    assert kept(tmp_path) == [2, 5]
    assert "could not save the checkpoint of step 4: [Errno 28] No space" in caplog.text


def test_a_model_that_has_diverged_is_not_saved(tmp_path):
    model = make_model()
    model.line.kernel.assign([[np.nan], [1.0]])
    with pytest.raises(
        ValueError, match="has diverged: at step 2 .*run with a lower learning rate"
    ):
        fit(model, 5, [checkpoints_in(tmp_path, save_freq=2)])
    assert load_latest_checkpoint(tmp_path) is None


@pytest.mark.few(1)
@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_callbacks_in_any_order(tmp_path, order):
    """The checkpoint at the end of an epoch contains the other callbacks' final states."""

    def made():
        keeper = BestModel(lambda model: None, "sampled_perplexity")
        return keeper, Checkpoints(tmp_path, save_freq=2, callbacks={"best_model": keeper})

    callbacks = made()
    fit(make_model(), 3, callbacks[order], epochs=2)
    keeper, checkpoints = made()
    assert checkpoints.restore(make_model()) == checkpoints.step == keeper.step == 6
    assert keeper.best == callbacks[0].best and set(keeper.best) == {"sampled_perplexity", "step"}


def test_checkpoints_with_other_callbacks(tmp_path):
    fit(make_model(), 2, [checkpoints_in(tmp_path)])
    other = checkpoints_in(tmp_path, callbacks={"best": BestModel(lambda model: None)})
    with pytest.raises(ValueError, match="the states of no callbacks; expected the states of best"):
        other.restore(make_model())


def test_time_ends_fit_within_an_epoch(tmp_path):
    with pytest.raises(TimeLimitReached):
        fit(make_model(), 4, [checkpoints_in(tmp_path, time_limit_minutes=1e-9)])
    step, _, state = load_latest_checkpoint(tmp_path)
    assert step == 1 and state["in_epoch"]


@pytest.mark.few(1)
@pytest.mark.parametrize("steps, more", [(4, {"evaluate_at_time_limit": True}), (1, {})])
def test_time_ends_an_epoch_as_any_other(tmp_path, steps, more):
    checkpoints, model = checkpoints_in(tmp_path, time_limit_minutes=1e-9, **more), make_model()
    fit(model, steps, [checkpoints], epochs=2)
    assert model.stop_training and checkpoints.step == 1
    assert not load_latest_checkpoint(tmp_path)[2]["in_epoch"]
