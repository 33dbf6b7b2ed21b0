import json

from benchmarks import peer_keras_hub

SHAPE = {"vocabulary_size": 9, "hidden_dim": 4, "num_layers": 1, "num_heads": 2}


def test_answers_with_the_call_of_its_arguments(monkeypatch):
    prepared, answered = [], []

    def prepare(*sizes):
        prepared.append(sizes)
        return "call"

    monkeypatch.setattr(peer_keras_hub, "prepare", prepare)
    monkeypatch.setattr(peer_keras_hub, "answer", lambda *calls: answered.extend(calls))
    assert peer_keras_hub.main(["encode", json.dumps(SHAPE), "2"]) == 0
    assert prepared == [("encode", SHAPE, 2)] and answered == ["call"]
