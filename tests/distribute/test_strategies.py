import json

import pytest
import tensorflow as tf

from tfreps.distribute.strategies import open_strategy


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
