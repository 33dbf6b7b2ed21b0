"""The outputs that change in bfloat16: none without bfloat16, and few with it."""

import pytest

from benchmarks import precision_outputs
from tests.training import labeling


@pytest.mark.slow
def test_taggers_and_classifiers(tmp_path, monkeypatch):
    tagged, labeled = tmp_path / "tagged", tmp_path / "labeled"
    tagged.mkdir()
    labeled.mkdir()
    tagger = labeling.train_tagger(labeling.write_tagged(tagged), tmp_path / "tagger")
    classifier = labeling.train_classifier(labeling.write_labeled(labeled), tmp_path / "classifier")
    for run, score in (tagger, "f1"), (classifier, "accuracy"):
        expected = labeling.results(run)["validation"]
        expected = expected.get("spans", {}).get("micro", expected)[score]
        for policy in "float32", "mixed_bfloat16":
            monkeypatch.setattr(precision_outputs, "POLICY", policy)
            name, number, changed, _, _, before, after, distance = precision_outputs.measure(run)
            assert name == run.name and number >= 60 and before == f"{expected:.4f}"
            if policy == "float32":
                assert changed == 0 and before == after and float(distance) == 0
            else:
                assert changed < number / 10 and float(distance) < 0.1
