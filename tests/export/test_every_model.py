"""Exports of every public model return the outputs of the model without tfreps.

To use another TensorFlow, such as that of TensorFlow Serving:

    python -m venv tf220 && tf220/bin/pip install tensorflow==2.20.0
    TFREPS_CHECK_PYTHON=tf220/bin/python pytest -m slow tests/export/test_every_model.py
"""

import os
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.catalogue import CATALOGUE
from tests.closeness import BFLOAT16, assert_close
from tests.exported_models import MAKERS
from tfreps import models
from tfreps._src.export import stored_weights
from tfreps._src.export.export_check import SENTENCES
from tfreps.export import check_export, open_for_export, write_export
from tfreps.serving.server.models.warm_up import warm_up_requests


def test_none_is_without_an_export():
    assert sorted([*MAKERS, "sizes"]) == sorted(models.__all__)
    known = {entry.cls for entry in CATALOGUE.values()}
    catalogued = {name for name in models.__all__ if getattr(models, name) in known}
    assert catalogued <= {*MAKERS}


QUICK = "Classifier"


@pytest.mark.parametrize(
    "name", [n if n == QUICK else pytest.param(n, marks=pytest.mark.slow) for n in MAKERS]
)
def test_answers_are_float32_under_any_precision(name):
    keras.config.set_dtype_policy("mixed_bfloat16")
    signatures = open_for_export(MAKERS[name](), explain=True)
    assert signatures.weights.precision == "bfloat16"
    for function in signatures.functions().values():
        kinds = {output.dtype for output in function.structured_outputs.values()}
        assert kinds <= {tf.float32, tf.int32, tf.string}


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_constants_give_the_outputs_of_variables(name, tmp_path, monkeypatch):
    keras.config.set_dtype_policy("mixed_bfloat16")
    loaded = MAKERS[name]()
    signatures = open_for_export(loaded)
    assert signatures.weights.constant
    written = write_export(signatures, tmp_path / "model")
    found = tf.saved_model.load(str(written.folder)).signatures["default"]
    monkeypatch.setattr(stored_weights, "MOST_CONSTANTS", 0)
    signatures = open_for_export(loaded)
    assert not signatures.weights.constant
    expected = signatures.functions()["default"](text=tf.constant(SENTENCES))
    for key, value in found(text=tf.constant(SENTENCES)).items():
        if value.dtype.is_floating:  # the operations are the same, but TensorFlow may fuse them
            assert_close(value, expected[key], unit=BFLOAT16, terms=1, name=key)
        else:
            np.testing.assert_array_equal(value, expected[key])


@pytest.mark.slow
@pytest.mark.parametrize("name", MAKERS)
def test_the_check(tmp_path, name):
    signatures = open_for_export(MAKERS[name](), explain=True)
    written = write_export(signatures, tmp_path / "model")
    loaded = tf.saved_model.load(str(written.folder))
    requests = warm_up_requests(written.folder)
    assert {request.model_spec.signature_name for request in requests} == set(written.functions)
    for request in requests:
        inputs = {k: tf.constant(tf.make_ndarray(value)) for k, value in request.inputs.items()}
        loaded.signatures[request.model_spec.signature_name](**inputs)
    asset = "words.txt" if name == "ManyLangsBiLM" else "vocabulary.txt"
    assert (written.folder / "assets" / asset).is_file()
    assert b"_XlaMustCompile\x12\x02(\x01" not in (written.folder / "saved_model.pb").read_bytes()
    explain = written.functions["explain"](text=tf.constant(SENTENCES))
    for function in written.functions.values():
        kinds = {output.dtype for output in function.structured_outputs.values()}
        assert kinds <= {tf.float32, tf.int32, tf.string}
    assert all(np.isfinite(v).all() for v in explain.values() if v.dtype == tf.float32)
    python = os.environ.get("TFREPS_CHECK_PYTHON", sys.executable)
    difference = check_export(signatures, written.functions, written.folder, python)
    print(f"{name}: largest difference {difference:.1e}")
