import re
import subprocess
import sys

import pytest

from benchmarks import gemm
from tests.conftest import CHECKOUT


def test_rate_is_operations_by_median_seconds(monkeypatch):
    monkeypatch.setattr(gemm, "SIZE", 64)
    monkeypatch.setattr(gemm, "WARM_UP_SECONDS", 0.0)
    monkeypatch.setattr(gemm, "timed", lambda function, times: [1e-3, 2e-3, 9e-3])
    assert gemm.gemm(warm_up=0.0) == 2 * 64**3 / 2e-3 / 1e9


def test_timed_calls_as_often_as_told():
    calls = []
    seconds = gemm.timed(lambda: calls.append(1), 4)
    assert len(calls) == len(seconds) == 4
    assert all(second >= 0 for second in seconds)


@pytest.mark.slow
def test_prints_the_rate():
    command = [sys.executable, "-m", "benchmarks.gemm"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"[1-9]\d* GFLOP/s\n", done.stdout)
