"""Tests the selection of models by name, version and label."""

import logging
import time

import pytest

from tfreps.serving.server.models.model_configs import ModelConfig
from tfreps.serving.server.models.model_pool import ModelPool


@pytest.fixture
def pool(tmp_path):
    for path in ("m/3", "n/1"):
        (tmp_path / path).mkdir(parents=True)
    configs = [ModelConfig("m", str(tmp_path / "m"), labels={"stable": 3})]
    configs.append(ModelConfig("n", str(tmp_path / "n")))
    return ModelPool(configs, load=str)


def test_two_models_of_one_name():
    configs = [ModelConfig("m", "old"), ModelConfig("n", "n"), ModelConfig("m", "new")]
    with pytest.raises(ValueError, match="model name 'm' is used more than once"):
        ModelPool(configs, load=str)


def test_polling_and_readiness(pool, tmp_path):
    assert not pool.ready
    pool.refresh()
    assert pool.ready
    pool.start(0.01)
    (tmp_path / "n" / "2").mkdir()
    until = time.monotonic() + 10
    while pool.models["n"].available != [2] and time.monotonic() < until:
        time.sleep(0.01)
    pool.stop()
    assert pool.models["n"].available == [2]


def test_one_broken_model_is_no_end_of_the_others(pool, caplog):
    pool.models["m"].refresh = lambda: 1 / 0
    with caplog.at_level(logging.INFO, "tfreps.serving"):
        pool.refresh()
        pool.refresh()
    assert pool.models["n"].available == [1]
    assert caplog.text.count("n version 1: AVAILABLE") == 1
    assert "m: cannot search for versions" in caplog.text
