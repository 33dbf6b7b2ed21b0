from tfreps._src.callbacks.step_logs import StepLogs, exact_logs


def test_exact_metrics_are_computed_only_when_asked_for():
    calls = []
    logs = StepLogs({"loss": 3.0}, lambda: calls.append(1) or {"loss": 2.0})
    assert logs == {"loss": 3.0} and not calls
    assert exact_logs(logs) == {"loss": 2.0} and len(calls) == 1
    assert exact_logs(logs) == {"loss": 2.0} and len(calls) == 1  # a callback may have reset them


def test_logs_of_fit_are_exact():
    assert exact_logs({"loss": 1}) == {"loss": 1.0}
    assert exact_logs(None) == {}
