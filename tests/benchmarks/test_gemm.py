from benchmarks import gemm


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


def test_prints_the_rate(monkeypatch, capsys):
    monkeypatch.setattr(gemm, "gemm", lambda: 215.6)
    gemm.main()
    assert capsys.readouterr().out == "216 GFLOP/s\n"
