"""write_export writes the next version of a model into its folder, with warm-up requests."""

import builtins
import json

import numpy as np
import pytest
import tensorflow as tf

from tests.export.tiny_signatures import TinySignatures
from tfreps._src.export import export_folder, notes, signature_base
from tfreps._src.export.export_folder import COUNTS, WARM_UP_TEXTS, write_warm_up
from tfreps._src.files.version_folders import versions_of
from tfreps.export import write_export
from tfreps.serving.server.requests import request_limits
from tfreps.serving.server.requests.request_limits import RequestCounter

NOTES = ["README.md", "batching.config", "models.config"]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_versions_follow_one_another(tmp_path):
    base = tmp_path / "deep" / "toy"
    for version in (1, 2):
        written = write_export(TinySignatures(), base)
        assert (written.version, written.folder) == (version, base / str(version))
        assert list(written.functions) == ["default", "serving_default", "explain"]
        readme = (base / "README.md").read_text()
        assert f"version {version}." in readme and "\nA notice for users.\n" in readme
    assert names(base) == ["1", "2", *NOTES]
    outputs = tf.saved_model.load(str(base / "2")).signatures["default"](text=tf.constant(["ab c"]))
    assert outputs["tags"].numpy().tolist() == [[b"2", b"1"]]


def test_what_reads_no_text_is_warmed_up_too(tmp_path):
    written = write_export(TinySignatures(reads_text=False), tmp_path)
    assert written.num_warm_up == 2
    assert (written.folder / "assets.extra" / "tf_serving_warmup_requests").is_file()


def test_nothing_is_left_where_writing_fails(tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export_folder, "write_warm_up", fails)
    with pytest.raises(OSError, match="No space"):
        write_export(TinySignatures(), tmp_path)
    assert not list(tmp_path.iterdir()) and versions_of(tmp_path) == []
    (tmp_path / "file").write_text("kept")
    with pytest.raises(ValueError, match="is a file"):
        write_export(TinySignatures(), tmp_path / "file")


def test_a_server_reads_how_texts_are_tokenized(tmp_path):
    folder = write_export(TinySignatures(), tmp_path).folder
    path = folder / "assets.extra" / COUNTS
    assert path == folder / request_limits.FILE
    assert json.loads(path.read_text()) == TinySignatures.text_counts
    counter = RequestCounter.of_folder(folder)
    assert (counter.tokens, counter.most_per_text, counter.attends) == ("spaces", None, False)
    assert set(notes.UNITS) == set(request_limits.PATTERNS)
    assert signature_base.ATTENDED == request_limits.ATTENDED


def requests_in(path):
    """Yields the signature names and the inputs, as arrays, of the requests for the model ner."""
    pb2 = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    for record in tf.data.TFRecordDataset(str(path)):
        request = pb2.PredictionLog.FromString(record.numpy()).predict_log.request
        assert request.model_spec.name == "ner"
        inputs = {key: tf.make_ndarray(value) for key, value in request.inputs.items()}
        yield request.model_spec.signature_name, inputs


def test_every_signature_is_called(tmp_path):
    """Aliases are called, too, because each signature is a separate graph in the loaded model."""
    signatures = TinySignatures()
    functions = signatures.functions()
    assert write_warm_up(tmp_path / "requests", "ner", functions) == 6
    found = [
        (name, [text.decode() for text in inputs["text"]])
        for name, inputs in requests_in(tmp_path / "requests")
    ]
    names = "default", "serving_default", "explain"
    assert found == [(name, texts) for name in names for texts in WARM_UP_TEXTS]


def test_inputs_of_all_kinds(tmp_path):
    specs = {
        "tokens": tf.TensorSpec([None, None], tf.string),
        "sequence_len": tf.TensorSpec([None], tf.int32),
        "states": tf.TensorSpec([None, 2, 3], tf.float32),
        "batch_size": tf.TensorSpec([], tf.int32),
    }
    function = tf.function(lambda **inputs: {"y": inputs["states"]}).get_concrete_function(**specs)
    assert write_warm_up(tmp_path / "requests", "ner", {"tokens": function}) == 1
    ((name, inputs),) = requests_in(tmp_path / "requests")
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
    assert write_warm_up(tmp_path / "requests", "ner", TinySignatures().functions()) is None
    assert not list(tmp_path.iterdir())
