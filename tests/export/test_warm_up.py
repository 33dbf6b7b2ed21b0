"""Requests that a server runs before it serves a version."""

import builtins

import pytest
import tensorflow as tf

from tfreps.export.warm_up import PLACE, TEXTS, write_warm_up


def test_the_requests(tmp_path):
    pb2 = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    assert write_warm_up(tmp_path, "ner", ["default", "explain"]) == 4
    assert PLACE == "assets.extra/tf_serving_warmup_requests"
    found = []
    for record in tf.data.TFRecordDataset(str(tmp_path / PLACE)):
        log = pb2.PredictionLog.FromString(record.numpy())
        request = log.predict_log.request
        assert request.model_spec.name == "ner" and list(request.inputs) == ["text"]
        texts = [t.decode() for t in tf.make_ndarray(request.inputs["text"]).tolist()]
        found.append((request.model_spec.signature_name, texts))
    assert found == [(name, texts) for name in ("default", "explain") for texts in TEXTS]


def test_without_the_stubs(tmp_path, monkeypatch):
    real = builtins.__import__

    def fails(name, *rest):
        if name.startswith("tensorflow_serving"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", fails)
    assert write_warm_up(tmp_path, "ner", ["default"]) is None
    assert not list(tmp_path.iterdir())
