"""Tests the corpus, the processes and the readers of the benchmarks of `tfreps annotate`."""

import json
import os
import subprocess
import sys

import pytest

from benchmarks.annotate_runs import (
    processes_of,
    read_lines,
    read_schema,
    resident_mb,
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


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes by /proc")
def test_processes_of_processes_are_found():
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'])"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        while len(found := processes_of(process.pid)) < 2:
            assert process.poll() is None
        assert found[0] == process.pid and os.getpid() not in found
        assert 1 < resident_mb(process.pid) < 10_000
        process.communicate(b"\n")
    assert resident_mb(found[1]) == 0
