"""Peers run in environments of their own; here they run without their libraries."""

import importlib
import json
import os
import pathlib

import pytest

from benchmarks import bert, peer_bert_tokens, peer_loop

JOB = json.dumps({"task": "encode", "shape": {"hidden_dim": 4}, "texts": 2})


@pytest.mark.parametrize(
    "name, words, prepared",
    [
        ("peer_bilm_tf", ["embed", "elmo_small", "3", "4"], ("embed", (1024, 128, 1), 3, 4)),
        ("peer_crf", "delft loss 2 3 4 1.0 2".split(), ("delft", "loss", 2, 3, 4, 1.0, 2)),
        ("peer_hmm", ["hmm.npz"], ("hmm.npz",)),
        ("peer_keras_hub", [JOB], (json.loads(JOB),)),
        ("peer_many_langs", ["time", "a", "b"], (pathlib.Path("a"), pathlib.Path("b"))),
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
    calls = []
    monkeypatch.setattr("sys.stdin", ["2\n", "3\n"])
    monkeypatch.setattr(peer_loop, "seconds", lambda call: call() or float(len(calls)))
    peer_loop.answer(lambda: calls.append(1))
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["ready", [4.0, 5.0], [6.0, 7.0, 8.0]]  # after three calls


def test_commands_of_a_job():
    def timed(task, precision):
        commands = bert.peer_commands({"task": task, "precision": precision}, "T", "K")
        for command in commands.values():
            assert command[0] == ("K" if command[2].endswith("keras_hub") else "T")
        return [(name, json.loads(c[-1])["by_length"]) for name, c in commands.items()]

    engines = ["PyTorch", "OpenVINO", "ONNX Runtime", "KerasHub"]
    assert timed("encode", "float32") == [(name, False) for name in engines]
    assert timed("encode", "bfloat16") == [(n, False) for n in engines if n != "ONNX Runtime"]
    trainers = ["PyTorch", "KerasHub"]
    assert timed("train", "float32") == [(name, False) for name in trainers]
    assert timed("tune", "float32") == [
        *((name, False) for name in trainers),
        *((f"{name} by length", True) for name in trainers),
    ]


def test_tokens_fill_in_the_ids(monkeypatch, tmp_path):
    assert peer_bert_tokens.FILE.is_file()
    path = tmp_path / "bert_pieces.json"
    cases = {"vocabulary": ["a"], "texts": ["a", "é"], "options": [{"lowercase": True}]}
    path.write_text(json.dumps(cases))
    monkeypatch.setattr(peer_bert_tokens, "FILE", path)
    monkeypatch.setattr(peer_bert_tokens, "peer_ids", lambda vocabulary, texts, options: [[0], [7]])
    assert peer_bert_tokens.main([]) == 0
    assert json.loads(path.read_text())["options"] == [{"lowercase": True, "ids": [[0], [7]]}]
