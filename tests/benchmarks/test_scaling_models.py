import numpy as np
import pytest
import tensorflow as tf

from benchmarks import scaling_models
from tfreps.distribute.replica_loop import FitLoop
from tfreps.models.sizes import ELMO


@pytest.fixture
def small(monkeypatch):
    sizes = {"filters": [[1, 8], [2, 8]], "num_highways": 1, "units": 16, "projection_dim": 4}
    monkeypatch.setitem(ELMO, "elmo_small", sizes)
    bert = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "max_positions": 64}
    monkeypatch.setattr(scaling_models, "BERT", bert)
    monkeypatch.setattr(scaling_models, "VOCABULARY", 300)
    monkeypatch.setattr(scaling_models, "NEGATIVES", 50)


@pytest.mark.parametrize(
    "name", [pytest.param("bilm", marks=pytest.mark.slow), pytest.param("bert")]
)
def test_models_train_on_their_batches(small, name, monkeypatch):
    model, data = scaling_models.make(name, 4, tf.distribute.get_strategy())
    before = [variable.numpy() for variable in model.trainable_variables]
    monkeypatch.setattr(scaling_models.time, "perf_counter", iter([0, 9, 18, 20, 23]).__next__)
    assert scaling_models.seconds_per_step(FitLoop(model), data, steps=2) == 2.5
    after = [variable.numpy() for variable in model.trainable_variables]
    changed = [np.any(one != other) for one, other in zip(before, after, strict=True)]
    assert np.mean(changed) > 0.9


def test_ids_are_tokens_and_the_first_are_frequent():
    ids = scaling_models.frequent_ids(np.random.default_rng(0), 100_000)
    assert ids.min() == 1 and ids.max() == scaling_models.VOCABULARY - 1
    # An id below v has the probability log(v) / log(V).
    expected = np.log(90) / np.log(scaling_models.VOCABULARY)
    assert np.mean(ids < 90) == pytest.approx(expected, abs=0.01)
