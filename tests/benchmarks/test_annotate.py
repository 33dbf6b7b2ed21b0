"""The benchmarks of `tfreps annotate` print their rows for a small corpus."""

import os
import re

import pytest

from benchmarks import annotate, annotate_faults
from benchmarks.annotate_runs import write_corpus
from benchmarks.small_tagger import write_tagger
from tests.tiny_run import make_run
from tests.training import labeling


def test_a_corpus_repeats_its_sentences_and_numbers_them(tmp_path):
    (tmp_path / "a").write_text("one\n\ntwo two\n")
    assert write_corpus(tmp_path / "out", [tmp_path / "a"], 5) == 2
    lines = ["one", "two two", "1 one", "1 two two", "2 one"]
    assert (tmp_path / "out").read_text().splitlines() == lines


def test_every_task_prints_its_rows(tmp_path, capsys):
    pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")
    words = ["--text", str(tmp_path / "text"), "--sentences", "60", "--turns", "1"]
    (tmp_path / "text").write_text("mr Ada went home\nvery good\n" * 25)
    few = ["--epochs", "1"]
    tagger = labeling.train_tagger(labeling.write_tagged(tmp_path), tmp_path / "tagger", *few)
    files = labeling.write_labeled(tmp_path)
    classifier = labeling.train_classifier(files, tmp_path / "classifier", *few)
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


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes by /proc")
def test_faults_print_a_line_for_each_part(tmp_path, capsys):
    pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")
    (tmp_path / "text").write_text("the old river\nthree days of rain near the station\n")
    export = write_tagger(tmp_path / "export", units=8)
    words = [str(export), "--text", str(tmp_path / "text"), "--sentences", "30000"]
    assert annotate_faults.main([*words, "--lines", "2000"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"attempts [12]; 30,000 records; sorted bytes equal", out)
    counts = "29,700 annotated, 300 rejected of 30,000, 300 of them broken; 300 reasons written"
    assert counts in out
    assert re.search(r"memory: 2,000 lines in \d+ s; .*: (\d+, ){3}\d+ MB", out)
