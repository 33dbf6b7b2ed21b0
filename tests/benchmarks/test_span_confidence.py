"""The comparison of two confidences of spans, on a model whose probabilities are known."""

import pytest

from benchmarks import span_confidence
from tests import known_models


@pytest.mark.slow
def test_both_confidences_are_printed(tmp_path, capsys):
    run = known_models.tagger_run(tmp_path / "run", format="conll").path
    (tmp_path / "validation.conll").write_text("Ada B-PER\nsaw O\nRome O\n\n")
    assert span_confidence.main([str(run), str(tmp_path / "validation.conll")]) == 0
    shares = [known_models.softmax(known_models.WORDS[word]).max() for word in ("Ada", "Rome")]
    error = abs(1 - shares[0]) / 2 + shares[1] / 2
    output = capsys.readouterr().out
    assert "2 predicted spans, of which 0.5000 are right" in output
    for rule in "posterior", "lowest marginal":
        assert f"| {rule} | {sum(shares) / 2:.4f} | {error:.4f} |" in output
