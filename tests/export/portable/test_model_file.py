"""Tests ONNX and LiteRT files of Keras models in memory against the models."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tfreps._src.export.portable import converters
from tfreps._src.inference import run
from tfreps.export import write_model
from tfreps.layers import CRF
from tfreps.models import BertEncoder, BiLSTMEncoder, Tagger, TokenEmbedder
from tfreps.tags import TagSet

TAGS = ["O", "B-PER", "I-PER"]
IDS = np.array([[3, 1, 4, 0, 2, 5, 0], [2, 2, 0, 0, 0, 0, 0], [0] * 7], "int32")
FORMATS = pytest.mark.parametrize("format", ["onnx", "litert"])


def randomize(model):
    rng = np.random.default_rng(1)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    return model


def keras_tagger():
    ids = keras.Input([None], dtype="int32", name="ids")
    vectors = keras.layers.Embedding(10, 4, mask_zero=True)(ids)
    return Tagger(keras.Model(ids, keras.layers.Dense(4)(vectors)), TAGS, "bio")


def own_tagger():
    return Tagger(BiLSTMEncoder(TokenEmbedder(vocabulary_size=9), units=4), TAGS, "bio")


def functional():
    ids = keras.Input([None], dtype="int32", name="ids")
    crf = CRF(3, TagSet(TAGS, "bio").allowed_transitions())
    tags, score = crf(keras.layers.Embedding(10, 3)(ids), mask=ids > 0)
    return keras.Model(ids, [tags, score])


def started(model, path, format):
    assert write_model(randomize(model), path, format) < 1e-4
    return run.STARTS["onnxruntime" if format == "onnx" else "litert"](str(path), None)[1]


@pytest.mark.slow
@FORMATS
@pytest.mark.parametrize(
    "make, name, large",
    [(keras_tagger, "ids", None), (own_tagger, "token_ids", None), (own_tagger, "token_ids", 1)],
)
def test_taggers(make, name, large, format, tmp_path, monkeypatch):
    """With `large`, the conversion does not copy the matrices, also those in the loops."""
    if large is not None:
        monkeypatch.setattr(converters, "LARGE", large)
    model = make()
    function = started(model, tmp_path / "tagger", format)
    expected = model.predict({name: IDS} if name == "token_ids" else IDS, verbose=0)
    for rows in slice(0, 3), slice(0, 1), slice(1, 3):
        found = function({name: IDS[rows]})
        assert set(found) == {"tags", "confidences", "mask", "spans", "span_confidences"}
        for output, value in expected.items():
            ours = found[output]
            theirs = value[rows][:, : ours.shape[1]] if output.startswith("span") else value[rows]
            assert_close(ours[:, : theirs.shape[1]], theirs, terms=4096)


@FORMATS
def test_a_functional_model_with_a_crf(format, tmp_path):
    model = functional()
    function = started(model, tmp_path / "crf", format)
    found = function({"ids": IDS})
    tags, score = model(IDS)
    np.testing.assert_array_equal(found["output_0"], tags)
    assert_close(found["output_1"], score, terms=64)


@pytest.mark.slow
def test_an_encoder(tmp_path):
    model = BertEncoder(vocabulary_size=9, hidden_dim=8, num_layers=1, num_heads=2)
    function = started(model, tmp_path / "bert.onnx", "onnx")
    found, expected = function({"token_ids": IDS}), model({"token_ids": IDS})
    assert_close(found["sequence_output"], expected["sequence_output"], terms=4096)


def words():
    tokens = keras.Input([None], dtype="string", name="tokens")
    return keras.Model(tokens, keras.layers.StringLookup(vocabulary=["a"])(tokens))


def formatted():
    ids = keras.Input([None], dtype="int32")
    layer = keras.layers.Lambda(lambda x: tf.strings.length(tf.strings.as_string(x)))
    return keras.Model(ids, layer(ids))


class Bare(keras.Model):
    def call(self, inputs):
        return inputs


@pytest.mark.parametrize(
    "make, message",
    [
        (words, "must be numbers, .* got strings in 'tokens'"),
        (formatted, r"could not be written in the format 'onnx', so .*a.onnx was not written"),
        (Bare, "got a Bare, which does not specify its inputs"),
    ],
)
def test_models_without_a_portable_form(make, message, tmp_path):
    (tmp_path / "a.onnx").write_text("kept")
    with pytest.raises(ValueError, match=message):
        write_model(make(), tmp_path / "a.onnx")
    assert [path.name for path in tmp_path.iterdir()] == ["a.onnx"]
    assert (tmp_path / "a.onnx").read_text() == "kept"


@FORMATS
def test_the_method_export_names_the_function(format):
    with pytest.raises(ValueError, match=r"`tfreps.export.write_model\(model, 'a.onnx', "):
        own_tagger().export("a.onnx", format=format)


def test_export_of_keras_rejects_a_crf(tmp_path):
    model = functional()
    model(IDS)
    with pytest.raises(
        ValueError, match=r"Call `tfreps.export.write_model\(model, 'model.onnx'\)`"
    ):
        model.export(tmp_path / "a.onnx", format="onnx", verbose=False)
    assert not [*tmp_path.iterdir()]
