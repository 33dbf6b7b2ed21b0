"""Peers run in environments of their own; here they run without their libraries."""

import json
import sys

import pytest

from benchmarks import bert, runner
from benchmarks.peers import bert_tokens, loop

PIECES = ["[UNK]", "[CLS]", "[SEP]", "a", "b"]


def test_our_calls_alternate_with_those_of_a_peer():
    """The peer is the library tokenizers, in this environment."""
    calls, pythons = [], {"python": sys.executable}
    peer = runner.Peer("python", "tokenizers", (PIECES, ["a b"] * 65))
    found = runner.alternately({"tfreps": lambda: calls.append(1), "t": peer}, 16, pythons)
    assert [len(times) for times in found.values()] == [16, 16] and len(calls) == 16 + 5
    assert min(found["t"]) > 0
    wrong = runner.Peer("python", "tokenizers", ())
    with pytest.raises(OSError, match="ended without a result: .* tokenizers.prepare"):
        runner.alternately({"wrong": wrong}, 1, pythons)


def test_the_loop_answers_each_line_with_that_many_seconds(monkeypatch, capsys):
    calls, lines = [], iter(["[[], []]\n", "2\n", "3\n"])
    monkeypatch.setattr("sys.stdin", Lines(lines))
    monkeypatch.setattr(loop, "seconds", lambda call: call() or float(len(calls)))
    monkeypatch.setattr(loop.importlib, "import_module", lambda name: Module(calls))
    loop.answer("some.prepare")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["ready", [4.0, 5.0], [6.0, 7.0, 8.0]]  # after three calls


class Lines:
    """A file of lines."""

    def __init__(self, lines):
        self.lines = lines

    def readline(self):
        return next(self.lines)

    def __iter__(self):
        return self.lines


class Module:
    """A peer whose call is noted in a list."""

    def __init__(self, calls):
        self.calls = calls

    def prepare(self, *arguments):
        assert arguments == ([], [])
        return lambda: self.calls.append(1)


def test_a_function_of_a_peer_is_called_once(capsys):
    tokens = ["a", "b"]
    found = runner.call_peer(sys.executable, "crfsuite.features", tokens)
    assert found[0][2:4] == ["0=a", "1=b"]
    with pytest.raises(SystemExit, match="crfsuite.nothing failed in"):
        runner.call_peer(sys.executable, "crfsuite.nothing")


def test_peers_of_a_row():
    def timed(task, precision):
        found = bert.peers_of(task, "base", 8, 128, precision)
        for peer in found.values():
            assert peer.python == f"{'keras_hub' if peer.file == 'keras_hub' else 'torch'}_python"
        return [(name, peer.arguments[-1]["by_length"]) for name, peer in found.items()]

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
    assert bert_tokens.FILE.is_file()
    path = tmp_path / "bert_pieces.json"
    cases = {"vocabulary": ["a"], "texts": ["a", "é"], "options": [{"lowercase": True}]}
    path.write_text(json.dumps(cases))
    monkeypatch.setattr(bert_tokens, "FILE", path)
    monkeypatch.setattr(bert_tokens, "peer_ids", lambda vocabulary, texts, options: [[0], [7]])
    bert_tokens.write()
    assert json.loads(path.read_text())["options"] == [{"lowercase": True, "ids": [[0], [7]]}]
