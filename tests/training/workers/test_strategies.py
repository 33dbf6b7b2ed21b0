import json
import types

import pytest
import tensorflow as tf

from tfreps.training.workers.strategies import check_rows, open_strategy


def test_one_device_without_several_gpus():
    assert open_strategy("none") is tf.distribute.get_strategy()
    assert open_strategy() is tf.distribute.get_strategy()


def test_mirrored_needs_two_devices():
    with pytest.raises(ValueError, match="mirrored needs at least two GPUs .*; TensorFlow sees 0"):
        open_strategy("mirrored")


def test_multiworker_needs_tf_config(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(ValueError, match="needs the environment variable TF_CONFIG"):
        open_strategy("multiworker")
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": {}}))
    with pytest.raises(ValueError, match="TF_CONFIG"):
        open_strategy("multiworker")


def test_an_unknown_kind_is_an_error():
    with pytest.raises(ValueError, match="`kind` must be one of .* got 'ps'"):
        open_strategy("ps")


@pytest.mark.parametrize("text", ["soon", "0", "-1", "inf", "nan"])
def test_the_time_to_wait_for_workers(monkeypatch, text):
    monkeypatch.setenv("TFREPS_WORKER_WAIT", text)
    cluster = {"cluster": {"worker": ["127.0.0.1:1"]}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    with pytest.raises(ValueError, match="TFREPS_WORKER_WAIT must be a positive number of sec"):
        open_strategy("multiworker")


def test_a_size_that_does_not_divide_is_an_error():
    four = types.SimpleNamespace(num_replicas_in_sync=4)
    check_rows("batch_size", 8, four)
    expected = "^`batch_size` must be a multiple of 4, .*; got 6. The next such number is 8.$"
    with pytest.raises(ValueError, match=expected):
        check_rows("batch_size", 6, four)
