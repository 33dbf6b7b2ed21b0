"""Requests that a server runs before it serves a version."""

import builtins

import numpy as np
import pytest
import tensorflow as tf

from tests.export.tiny_signatures import TinySignatures
from tfreps.export.warm_up import PLACE, TEXTS, write_warm_up


def requests_in(folder):
    """Returns the signature names and the inputs, as arrays, of the requests for the model ner."""
    pb2 = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    for record in tf.data.TFRecordDataset(str(folder / PLACE)):
        request = pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        assert request.model_spec.name == "ner"
        inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
        yield request.model_spec.signature_name, inputs


def test_every_signature_is_called(tmp_path):
    """An alias, too: each signature is a graph of its own in the loaded model."""
    signatures = TinySignatures()
    functions = signatures.functions()
    assert write_warm_up(tmp_path, "ner", functions) == 6
    assert PLACE == "assets.extra/tf_serving_warmup_requests"
    found = [
        (name, [text.decode() for text in inputs["text"]]) for name, inputs in requests_in(tmp_path)
    ]
    names = "default", "serving_default", "explain"
    assert found == [(name, texts) for name in names for texts in TEXTS]


def test_inputs_of_all_kinds(tmp_path):
    specs = {
        "tokens": tf.TensorSpec([None, None], tf.string),
        "sequence_len": tf.TensorSpec([None], tf.int32),
        "states": tf.TensorSpec([None, 2, 3], tf.float32),
        "batch_size": tf.TensorSpec([], tf.int32),
    }
    function = tf.function(lambda **inputs: {"y": inputs["states"]}).get_concrete_function(**specs)
    assert write_warm_up(tmp_path, "ner", {"tokens": function}) == 1
    ((name, inputs),) = requests_in(tmp_path)
    assert name == "tokens" and inputs["tokens"].tolist() == [[b"1"]]
    for key, shape in {"sequence_len": [1], "states": [1, 2, 3], "batch_size": []}.items():
        np.testing.assert_array_equal(inputs[key], np.ones(shape, specs[key].dtype.name))
        assert inputs[key].dtype == specs[key].dtype.as_numpy_dtype


def test_without_the_stubs(tmp_path, monkeypatch):
    real = builtins.__import__

    def fails(name, *rest):
        if name.startswith("tensorflow_serving"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", fails)
    assert write_warm_up(tmp_path, "ner", TinySignatures().functions()) is None
    assert not list(tmp_path.iterdir())
