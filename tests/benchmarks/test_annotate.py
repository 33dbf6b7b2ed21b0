"""Tests the benchmark of `tfreps annotate` on a small corpus."""

import re

import numpy as np
import pytest

from benchmarks import annotate
from tests.tiny_run import make_run
from tests.training import labelling


def test_the_difference_is_the_largest():
    assert annotate.difference([1, 2], np.float32([1, 2.5])) == 0.5
    assert annotate.difference([], []) == 0


def test_the_first_texts(tmp_path):
    (tmp_path / "text").write_text("a\nb c\nd\n")
    assert annotate.first_texts(tmp_path / "text", 2) == ["a", "b c"]


def test_the_number_of_lstm_layers(tmp_path):
    assert annotate.num_lstm_layers(make_run(tmp_path / "bilm")[0]) == 2


def test_every_task_prints_its_rows(tmp_path, capsys):
    pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")
    words = ["--text", str(tmp_path / "text"), "--sentences", "60", "--turns", "1"]
    (tmp_path / "text").write_text("mr Ada went home\nvery good\n" * 25)
    few = ["--epochs", "1"]
    tagger = labelling.train_tagger(labelling.write_tagged(tmp_path), tmp_path / "tagger", *few)
    files = labelling.write_labelled(tmp_path)
    classifier = labelling.train_classifier(files, tmp_path / "classifier", *few)
    bilm, _ = make_run(tmp_path / "bilm")
    runs = {"tagger": tagger, "classifier": classifier, "bilm": bilm}
    words += [str(word) for task, run in runs.items() for word in (f"--{task}", run)]
    assert annotate.main(words) == 0
    out = capsys.readouterr().out
    for task in runs:
        rows = re.findall(rf"^\| {task}, `tfreps \w.*\| [\d.]+ \| [\d,]+ \| [\d.]+ \|.*", out, re.M)
        assert len(rows) == 3, out
        assert all(float(row.split("|")[5]) <= 1e-6 for row in rows[1:]), rows
    assert "60 sentences, 50 of them distinct" in out
