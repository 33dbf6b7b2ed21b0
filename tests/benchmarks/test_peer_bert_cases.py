"""Tests the program of transformers as far as possible without PyTorch."""

import sys
import types

import pytest

from benchmarks import bert_cases, peer_bert_cases
from tests.benchmarks.test_bert_cases import CASE


class Model:
    """Saves the files that transformers would save."""

    def __init__(self, case):
        self.case, self.sizes = case, []

    def save_pretrained(self, folder, max_shard_size=None):
        self.sizes.append(max_shard_size)
        natural = {**self.case, "style": "late", "prefix": "bert.", "files": "single"}
        bert_cases.write(natural, folder)


def names_of(folder):
    found = set()
    for path in folder.glob("*.safetensors"):
        found |= set(peer_bert_cases.load_file(path))
    return found


def test_transformers_writes_what_it_can_and_we_the_rest(tmp_path):
    late = {**CASE, "style": "late", "prefix": "bert."}
    for case, size in (late, "2KB"), ({**late, "files": "single"}, "1GB"), (CASE, None):
        model = Model(case)
        peer_bert_cases.write_case(model, case, tmp_path / str(size))
        assert model.sizes == [size]
    assert "bert.embeddings.LayerNorm.weight" in names_of(tmp_path / "2KB")
    names = names_of(tmp_path / "None")
    assert {"embeddings.LayerNorm.gamma", "cls.predictions.decoder.bias"} <= names
    assert not any(name.startswith("bert.") for name in names)


def test_classes_by_name(monkeypatch):
    transformers = types.SimpleNamespace(BertModel="the model")
    monkeypatch.setitem(sys.modules, "transformers", transformers)
    assert peer_bert_cases.class_of("BertModel without pooler") == "the model"


def test_the_tasks(monkeypatch, tmp_path):
    done = []
    monkeypatch.setattr(peer_bert_cases, "read", done.append)
    assert peer_bert_cases.main(["read", str(tmp_path)]) == 0
    assert done == [tmp_path]
    with pytest.raises(KeyError):
        peer_bert_cases.main(["write", str(tmp_path)])
