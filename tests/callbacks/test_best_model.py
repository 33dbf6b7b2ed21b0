"""Which model is kept, and when training stops."""

import types

from tfreps.callbacks import BestModel


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


def test_a_figure_of_which_more_is_better_and_patience():
    saved, best = [], {}
    checkpoints = types.SimpleNamespace(step=0)
    callback = BestModel(saved.append, best, checkpoints, "f1", larger_is_better=True, patience=2)
    callback.set_model(types.SimpleNamespace(stop_training=False))
    stopped = []
    for f1 in (0.5, 0.4, 0.7, 0.7, 0.6):
        checkpoints.step += 1
        callback.on_epoch_end(0, {"val_f1": f1})
        stopped.append(callback.model.stop_training)
    assert len(saved) == 2 and best == {"f1": 0.7, "step": 3, "waited": 2}
    assert stopped == [False, False, False, False, True]
