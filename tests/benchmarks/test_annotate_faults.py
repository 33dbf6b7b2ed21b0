"""Tests the kill test, the damaged records and the memory test of `tfreps annotate`."""

import os
import re

import pytest

from benchmarks import annotate_faults


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes by /proc")
def test_other_processes_are_no_workers():
    assert annotate_faults.workers_of(os.getpid()) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="finds processes by /proc")
def test_every_part_prints_its_line(tmp_path, capsys):
    pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")
    (tmp_path / "text").write_text("the old river\nthree days of rain near the station\n")
    export = annotate_faults.small_tagger(tmp_path / "export")
    words = [str(export), "--text", str(tmp_path / "text"), "--sentences", "30000"]
    assert annotate_faults.main([*words, "--lines", "2000"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"attempts [12]; 30,000 records; sorted bytes equal", out)
    counts = "29,700 answered, 300 rejected of 30,000, 300 of them broken; 300 reasons written"
    assert counts in out
    assert re.search(r"memory: 2,000 lines in \d+ s; .*: (\d+, ){3}\d+ MB", out)
