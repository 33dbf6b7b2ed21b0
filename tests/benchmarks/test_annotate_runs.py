"""Tests the corpus, the processes and the readers of the benchmarks of `tfreps annotate`."""

import json
import subprocess

import pytest

from benchmarks.annotate_runs import (
    read_lines,
    read_schema,
    run_tfreps,
    write_corpus,
)


def test_a_corpus_repeats_its_sentences_and_numbers_them(tmp_path):
    (tmp_path / "a").write_text("one\n\ntwo two\n")
    (tmp_path / "b").write_text("three\n")
    assert write_corpus(tmp_path / "out", [tmp_path / "a", tmp_path / "b"], 7) == 3
    lines = "one|two two|three|1 one|1 two two|1 three|2 one"
    assert (tmp_path / "out").read_text().splitlines() == lines.split("|")


def test_lines_of_all_files_are_sorted(tmp_path):
    for name, text in {"answers-1": "b\na\n", "answers-0": "c\n", "rejected-0": "d\n"}.items():
        (tmp_path / f"{name}.jsonl").write_text(text)
    assert read_lines(tmp_path) == [b"a", b"b", b"c"]
    assert read_lines(tmp_path, "rejected") == [b"d"]
    (tmp_path / "schema.json").write_text(json.dumps({"answered": 3}))
    assert read_schema(tmp_path) == {"answered": 3}


def test_a_failed_program_is_an_error_and_its_output_is_in_the_log(tmp_path):
    with pytest.raises(subprocess.CalledProcessError):
        run_tfreps(["no-such-program"], tmp_path / "log")
    assert "no-such-program" in (tmp_path / "log").read_text()
    assert run_tfreps(["--help"], tmp_path / "log") > 0
