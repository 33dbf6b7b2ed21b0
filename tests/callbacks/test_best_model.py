"""Tests which model is saved and when training stops."""

import types

import pytest

from tests.callbacks.line import fit, make_model
from tfreps.callbacks import BestModel


def best_of(perplexities, save=None):
    """Returns the saved steps and `best` for these validation perplexities (None: no metric)."""
    saved = []
    callback = BestModel(save or (lambda model: saved.append(callback.step)), "val_perplexity")
    for perplexity in perplexities:
        callback.step += 10
        callback.on_epoch_end(0, {} if perplexity is None else {"val_perplexity": perplexity})
    return saved, callback.best


def test_the_best_model():
    assert best_of([5.0, 4.0, 4.0, 4.5, 3.0]) == ([10, 20, 50], {"perplexity": 3.0, "step": 50})
    nan = float("nan")
    assert best_of([nan, 5.0, nan]) == ([20], {"perplexity": 5.0, "step": 20})
    assert best_of([nan]) == ([], {})
    assert best_of([None, None]) == ([10, 20], {})


def test_a_model_that_cannot_be_saved_is_not_the_best(caplog):
    calls = []

    def save(model):
        calls.append(model)
        if len(calls) == 2:
            raise OSError(28, "No space left on device")

    assert best_of([5.0, 3.0, 4.0], save)[1] == {"perplexity": 4.0, "step": 30}
    assert "could not save the model: [Errno 28]" in caplog.text


def test_a_metric_of_which_more_is_better_and_patience():
    saved = []
    callback = BestModel(saved.append, "val_f1", patience=2)
    callback.set_model(types.SimpleNamespace(stop_training=False))
    stopped = []
    for f1 in (0.5, 0.4, 0.7, 0.7, 0.6):
        callback.step += 1
        callback.on_epoch_end(0, {"val_f1": f1})
        stopped.append(callback.model.stop_training)
    assert len(saved) == 2 and callback.best == {"f1": 0.7, "step": 3} and callback.wait == 2
    assert stopped == [False, False, False, False, True] and callback.patience_exceeded()


def test_a_state_goes_on_where_it_was():
    first = BestModel(lambda model: None, "val_f1", patience=3)
    for f1 in (0.5, 0.4):
        first.on_epoch_end(0, {"val_f1": f1})
    second = BestModel(lambda model: pytest.fail("it is not better"), "val_f1", patience=3)
    second.restore_state(first.state())
    second.on_epoch_end(0, {"val_f1": 0.45})
    assert second.best == {"f1": 0.5, "step": 0} and second.wait == 2
    assert first.wait == 1


def test_steps_of_several_calls_of_fit():
    callback, model = BestModel(lambda model: None), make_model()
    for _ in range(2):
        fit(model, 3, [callback])
    assert callback.step == 6


def test_a_model_that_has_diverged_is_not_saved():
    callback = BestModel(lambda model: pytest.fail("it is saved"))
    with pytest.raises(ValueError, match="Training has diverged: at step 0 the loss is nan"):
        callback.on_epoch_end(0, {"loss": float("nan")})
