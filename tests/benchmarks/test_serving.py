"""Tests the benchmark of the server with short durations."""

import re

import pytest

from benchmarks import serving


def test_the_newest_version(tmp_path):
    for name in ("2", "10", ".11.new"):
        (tmp_path / name).mkdir()
    assert serving.newest(tmp_path).name == "10"


@pytest.mark.slow
def test_every_part_prints_its_figures(capsys):
    assert serving.main(["--seconds", "1", "--requests", "400"]) == 0
    out = capsys.readouterr().out
    assert "FAILED" not in out
    assert len(re.findall(r"^\| (gRPC|REST) \| \d+ \| [\d.]+ \| [\d.]+ \| \d+ \|", out, re.M)) == 8
    assert (
        len(re.findall(r"^  (gRPC|REST): p50 [\d.]+ ms; minus the model [\d.-]+ ms", out, re.M))
        == 2
    )
    assert re.search(r"^  bare gRPC server: p50 [\d.]+ ms$", out, re.M)
    assert len(re.findall(r"^\d+ requests/s at random times, gRPC: p50 [\d.]+ ms", out, re.M)) == 2
    assert re.search(r"batched \d+, unbatched \d+ requests/s: [\d.]+ x", out)
    assert re.search(r"after 40 requests \d+ MB, after 400 \d+ MB: [+-][\d.]+ %", out)
    assert re.search(r"[1-9]\d* new versions under load: [\d,]+ answers, 0 failures", out)
