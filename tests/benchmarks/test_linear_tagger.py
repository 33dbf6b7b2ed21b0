"""The comparison with CRFsuite, without CRFsuite."""

import re

import pytest

from benchmarks import linear_tagger, peer_crfsuite


@pytest.mark.slow
def test_both_sides_are_measured(tmp_path, monkeypatch, capsys):
    lines = ["the O", "red B-X", "car E-X", "", "a O", "red B-X", "bus E-X", ""]
    path = tmp_path / "train.conll"
    path.write_text("\n".join(lines * 20))
    monkeypatch.setattr(linear_tagger, "EPOCHS", 3)
    asked = []
    monkeypatch.setattr(
        linear_tagger,
        "train_crfsuite",
        lambda train, validation, python: asked.append(python) or [("CRFsuite, 10", 0.25, 0.5)],
    )
    words = ["--train", str(path), "--validation", str(path), "--peer-python", "python"]
    assert linear_tagger.main(words) == 0
    output = capsys.readouterr().out
    assert asked == ["python"] and "| CRFsuite, 10 | 0.2 | 0.5000 |" in output
    ours = re.findall(r"\| tfreps, \d epochs \| ([\d.]+) \| ([\d.]+) \|", output)
    assert len(ours) == 3 and ours[-1][1] == "1.0000"


def test_features_are_those_of_the_linear_encoder():
    assert peer_crfsuite.features(["a", "b"]) == [
        ["-2=<s>", "-1=<s>", "0=a", "1=b", "2=</s>", "-1,0=<s>|a", "0,1=a|b"],
        ["-2=<s>", "-1=a", "0=b", "1=</s>", "2=</s>", "-1,0=a|b", "0,1=b|</s>"],
    ]
