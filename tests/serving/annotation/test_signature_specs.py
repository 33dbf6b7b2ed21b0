"""The signatures of an export are read without loading the model."""

import pathlib

import pytest
import tensorflow as tf

pytest.importorskip("apache_beam", reason="needs Apache Beam (make test-beam)")

import pyarrow as pa

from tfreps.serving.annotation.signature_specs import (
    SPAN,
    added_schema,
    chosen_names,
    read_outputs,
    version_folder,
)

VECTORS = {"default": tf.TensorSpec((None, 8)), "elmo": tf.TensorSpec((None, None, 8))}


@pytest.mark.parametrize("kind", ["tagger", "bilm"])
def test_outputs_are_those_of_the_loaded_model(export, kind):
    folder = version_folder(export(kind)[1])
    found = read_outputs(folder)
    loaded = tf.saved_model.load(folder).signatures["default"].structured_outputs
    assert {name: (spec.dtype, spec.shape) for name, spec in found.items()} == {
        name: (spec.dtype, spec.shape) for name, spec in loaded.items()
    }


def test_the_newest_version_is_chosen(tmp_path):
    for name in ("9", "10", "11", "next"):
        (tmp_path / name).mkdir()
    for name in ("9", "10", "next"):  # 11 has no model
        (tmp_path / name / "saved_model.pb").write_bytes(b"")
    assert version_folder(f"{tmp_path}/") == str(tmp_path / "10")
    assert version_folder(str(tmp_path / "9")) == str(tmp_path / "9")


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(
        ValueError, match="is not a SavedModel: it contains neither a saved_model.pb nor"
    ):
        version_folder(str(tmp_path))


def test_a_damaged_model(export, tmp_path):
    source = pathlib.Path(version_folder(export("tagger")[1]), "saved_model.pb")
    (tmp_path / "saved_model.pb").write_bytes(source.read_bytes()[:1000])
    with pytest.raises(ValueError, match=r"saved_model.pb is not a SavedModel \("):
        read_outputs(str(tmp_path))


def test_an_export_that_reads_ids_only(tmp_path):
    module = tf.Module()
    ids = tf.TensorSpec([None, None], tf.int32, "token_ids")
    module.run = tf.function(lambda token_ids: {"out": token_ids}, input_signature=[ids])
    tf.saved_model.save(module, str(tmp_path / "1"), signatures={"token_ids": module.run})
    with pytest.raises(ValueError, match="has no signature `default` that reads .*; it has token_"):
        read_outputs(str(tmp_path / "1"))


def test_names_by_default(export):
    tagger = read_outputs(version_folder(export("tagger")[1]))
    assert chosen_names(tagger) == ["tokens:T", "tags:T", "confidences:T", "spans"]
    classifier = read_outputs(version_folder(export("classifier")[1]))
    assert chosen_names(classifier) == ["label", "probability", "labels", "probabilities"]
    assert chosen_names(VECTORS) == ["default"]
    assert chosen_names(VECTORS, ["elmo", "default"]) == ["elmo:T", "default"]


def test_an_unknown_name():
    with pytest.raises(
        ValueError, match="contains 'tags', which the signature does not return. It"
    ):
        chosen_names(VECTORS, ["tags"])


def test_schema_of_outputs():
    outputs = {
        "label": tf.TensorSpec((None,), tf.string),
        "probability": tf.TensorSpec((None,)),
        "elmo": tf.TensorSpec((None, None, 8)),
    }
    found = added_schema(outputs, ["label", "probability", "elmo:T", "spans"], "my_")
    floats = pa.list_(pa.float32())
    assert found == pa.schema(
        [("my_label", pa.string()), ("my_probability", pa.float32())]
        + [("my_elmo", pa.list_(floats)), ("my_spans", pa.list_(SPAN))]
    )
