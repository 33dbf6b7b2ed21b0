"""The part that both interfaces share."""

import numpy as np
import pytest

from tfreps.server.requests.serving_error import ServingError


def test_answers_and_times(server):
    core = server.core
    with core.pool.lease("half_plus_two") as (number, servable):
        answer = core.run("half_plus_two", servable, "", {"x": np.array([1], "float32")})
    assert number == 123 and answer["y"].tolist() == [2.5]
    assert b'runtime_latency_count{API="Predict",model_name="half' in core.metrics.page()


def test_errors_are_counted_for_models_that_exist(server):
    core = server.core
    for name in ("zoo", "no-such-model"):
        with pytest.raises(ServingError, match="INTERNAL|ZeroDivision"):
            with core.recorded(name, "Predict", "REST"):
                _ = 1 / 0
    page = core.metrics.page().decode()
    assert 'request_count{model_name="zoo",status="INTERNAL"} 1.0' in page
    assert "no-such-model" not in page


def test_messages(server):
    (entry,) = server.core.status_message("half_plus_two").model_version_status
    assert (entry.version, entry.state, entry.status.error_code) == (123, 30, 0)
    message = server.core.metadata_message("half_plus_two", label="stable")
    assert message.model_spec.version.value == 123 and list(message.metadata) == ["signature_def"]
