"""Tests that the models of benchmarks.precision train, in tiny sizes."""

import numpy as np
import pytest

from benchmarks import precision_models
from benchmarks.precision_models import training_step
from tfreps.models.sizes import BERT, ELMO

CASES = {
    "elmo": ("elmo", "elmo_small"),
    "bert": ("bert", "bert_nano"),
    "tagger": ("tagger", {"encoder": "slstm", "units": 8}),
    "tagger of elmo": ("tagger", {"encoder": "bilstm", "units": 8, "elmo": True}),
    "classifier": ("classifier", {"encoder": "cnn", "num_filters": 8}),
    "classifier of bert": ("classifier", {"encoder": "bert"}),
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    sizes = {"filters": [[1, 8], [2, 8]], "num_highways": 1, "units": 16, "projection_dim": 4}
    monkeypatch.setitem(ELMO, "elmo_small", sizes)
    bert = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2, "max_positions": 64}
    for name in "bert_nano", "bert_6x384":
        monkeypatch.setitem(BERT, name, bert)
    monkeypatch.setattr(precision_models, "VOCABULARY", 60)
    monkeypatch.setattr(precision_models, "NEGATIVES", 20)


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("name", CASES)
def test_steps(name, policy):
    step = training_step(policy, *CASES[name], rows=3, length=7)
    assert np.isfinite([step() for _ in range(3)]).all()


def test_characters_are_those_of_words():
    table = precision_models.random_characters(np.random.default_rng(0), 40)
    assert table.shape == (40, 50) and len(np.unique(table, axis=0)) > 30
