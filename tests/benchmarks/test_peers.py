"""Peers run in environments of their own; here they run without their libraries."""

import importlib
import json
import os

import pytest

from benchmarks import peer_bert_tokens, peer_loop

JOB = json.dumps({"task": "encode", "shape": {"hidden_dim": 4}, "texts": 2})


@pytest.mark.parametrize(
    "name, words, prepared",
    [
        ("peer_bilm_tf", ["embed", "elmo_small", "3", "4"], ("embed", (1024, 128, 1), 3, 4)),
        ("peer_crf", "delft loss 2 3 4 1.0 2".split(), ("delft", "loss", 2, 3, 4, 1.0, 2)),
        ("peer_hmm", ["hmm.npz"], ("hmm.npz",)),
        ("peer_keras_hub", [JOB], (json.loads(JOB),)),
        ("peer_transformers", ["torch", JOB], ("torch", json.loads(JOB))),
    ],
)
def test_peers_answer_with_the_call_of_their_arguments(monkeypatch, name, words, prepared):
    module, given, answered = importlib.import_module(f"benchmarks.{name}"), [], []
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(module, "prepare", lambda *sizes: given.append(sizes) or ("call", "more"))
    monkeypatch.setattr(module, "answer", lambda *calls: answered.append(calls))
    assert module.main(words) == 0
    assert given == [prepared] and len(answered) == 1


def test_the_loop_answers_each_line_with_that_many_seconds(monkeypatch, capsys):
    chosen = []
    monkeypatch.setattr("sys.stdin", ["2\n", "3\n"])
    monkeypatch.setattr(peer_loop, "seconds", lambda call: {1: 3.0, 2: 2.0}[chosen[-1]])
    peer_loop.answer(lambda: None, chosen.append)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["ready", [2.0] * 2, [2.0] * 3] and chosen[-1] == 2


def test_tokens_fill_in_the_ids(monkeypatch, tmp_path):
    assert peer_bert_tokens.FILE.is_file()
    path = tmp_path / "bert_pieces.json"
    cases = {"vocabulary": ["a"], "texts": ["a", "é"], "options": [{"lowercase": True}]}
    path.write_text(json.dumps(cases))
    monkeypatch.setattr(peer_bert_tokens, "FILE", path)
    monkeypatch.setattr(peer_bert_tokens, "peer_ids", lambda vocabulary, texts, options: [[0], [7]])
    assert peer_bert_tokens.main([]) == 0
    assert json.loads(path.read_text())["options"] == [{"lowercase": True, "ids": [[0], [7]]}]
