"""The comparison with CRFsuite, without CRFsuite."""

import re

import pytest

from benchmarks import linear_tagger
from benchmarks.peers import crfsuite


@pytest.mark.slow
def test_both_sides_are_measured(tmp_path, monkeypatch, capsys):
    lines = ["the O", "red B-X", "car E-X", "", "a O", "red B-X", "bus E-X", ""]
    path = tmp_path / "train.conll"
    path.write_text("\n".join(lines * 20))
    monkeypatch.setattr(linear_tagger, "EPOCHS", 3)
    monkeypatch.setattr(linear_tagger, "ITERATIONS", [10])

    def call_peer(python, function, train, tokens, iterations):
        assert (python, function, iterations) == ("python", "crfsuite.train_and_tag", 10)
        assert train[0] == [["the", "red", "car"], ["O", "B-X", "E-X"]]
        return {"seconds": 0.25, "tags": [["O"] * len(sentence) for sentence in tokens]}

    monkeypatch.setattr(linear_tagger, "call_peer", call_peer)
    words = ["--train", str(path), "--validation", str(path), "--peer-python", "python"]
    assert linear_tagger.main(words) == 0
    output = capsys.readouterr().out
    assert "| CRFsuite, 10 iterations | 0.2 | 0.0000 |" in output
    ours = re.findall(r"\| tfreps, \d epochs \| ([\d.]+) \| ([\d.]+) \|", output)
    assert len(ours) == 3 and ours[-1][1] == "1.0000"


def test_features_are_those_of_the_linear_encoder():
    assert crfsuite.features(["a", "b"]) == [
        ["-2=<s>", "-1=<s>", "0=a", "1=b", "2=</s>", "-1,0=<s>|a", "0,1=a|b"],
        ["-2=<s>", "-1=a", "0=b", "1=</s>", "2=</s>", "-1,0=a|b", "0,1=b|</s>"],
    ]
