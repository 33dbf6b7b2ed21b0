"""Tests the names and labels of the Prometheus metrics."""

import pytest

from tfreps.serving.server.requests.serving_metrics import ServingMetrics


@pytest.mark.parametrize(
    "line",
    [
        "# TYPE :tensorflow:serving:request_count counter",
        ':tensorflow:serving:request_count{model_name="m",status="OK"} 1.0',
        "# TYPE :tensorflow:serving:request_latency histogram",
        ':tensorflow:serving:request_latency_bucket{API="Predict",entrypoint="REST",le="10.0",'
        'model_name="m"} 0.0',
        ':tensorflow:serving:request_latency_sum{API="Predict",entrypoint="REST",model_name="m"} '
        "1000.0",
        ':tensorflow:serving:runtime_latency_count{API="Predict",model_name="m",runtime="TF2"} 1.0',
    ],
)
def test_the_page_has_tensorflow_servings_names(line):
    metrics = ServingMetrics()
    metrics.record("m", "Predict", "REST", "OK", 0.001)
    metrics.record("m", "Predict", "GRPC", "NOT_FOUND", 0.0)
    metrics.record_run("m", 1.0)
    page = metrics.page().decode()
    assert line in page.splitlines()
    assert "_created" not in page and "_total" not in page
    metrics.record("user_created", "Predict", "REST", "OK", 0.001)
    assert 'request_count{model_name="user_created",status="OK"} 1.0' in metrics.page().decode()
