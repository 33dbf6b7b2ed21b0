"""Tests WholeModel: an export accepts the inputs of a call; quantization errors."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.catalogue import CATALOGUE
from tests.closeness import assert_close
from tfreps import models
from tfreps._src.models.model_exports import flat_outputs

IDS = np.array([[2, 5, 6, 3], [2, 7, 3, 0]], "int32")
MASK = IDS != 0


def words():
    return models.TokenEmbedder(vocabulary_size=11, embedding_dim=4)


def names(model):
    return [sorted(s) if isinstance(s, dict) else s.name for s in model._input_signatures()]


def assert_same(found, expected):
    tf.nest.assert_same_structure(found, expected)
    for a, b in zip(tf.nest.flatten(found), tf.nest.flatten(expected), strict=True):
        assert_close(a, b)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """Returns a BERT that was never called, and its export."""
    model = models.BertEncoder(vocabulary_size=12, hidden_dim=8, num_layers=1, num_heads=2)
    folder = tmp_path_factory.mktemp("bert")
    model.export(folder, verbose=False)
    return model, folder


@pytest.mark.slow
def test_every_form_of_a_call(bert):
    model, folder = bert
    served = tf.saved_model.load(folder)
    one = {"token_ids": IDS}
    segments, mask = {"segment_ids": np.zeros_like(IDS) + MASK}, {"mask": MASK}
    for inputs in (IDS, one, one | segments, one | mask, one | mask | segments):
        assert_same(served.serve(inputs), model(inputs))
    assert len(served.serve.concrete_functions) == 5


@pytest.mark.slow
def test_as_a_layer_of_keras_and_for_servers(bert):
    model, folder = bert
    layer = keras.layers.TFSMLayer(folder)
    assert_same(layer({"token_ids": IDS}), model(IDS))
    assert len(layer.trainable_weights) == len(model.trainable_weights)
    served = tf.saved_model.load(folder)
    assert sorted(served.signatures) == ["serve", "serving_default"]
    assert len(served.variables) == len(model.variables)
    answer = served.signatures["serving_default"](token_ids=tf.constant(IDS))
    assert_same(answer, model(IDS))


@pytest.mark.slow
def test_a_list_among_the_outputs(tmp_path):
    bilm = models.BiLM(units=4, projection_dim=2, num_layers=1, vocabulary_size=9)
    elmo = models.Elmo(bilm, num_output_representations=2)
    elmo.export(tmp_path, verbose=False)
    served, expected = tf.saved_model.load(tmp_path), elmo(IDS)
    found = served.serve(IDS)
    assert_same([*found["elmo_representations"]], expected["elmo_representations"])
    answer = served.signatures["serving_default"](ids=tf.constant(IDS))
    assert sorted(answer) == [
        *("elmo_representations_0", "elmo_representations_1"),
        *("layer_outputs", "mask", "sequence_output"),
    ]
    assert_close(answer["elmo_representations_1"], expected["elmo_representations"][1])


def test_a_list_of_one():
    one = tf.constant([1.0])
    assert_same(flat_outputs({"a": [one], "b": one}), {"a_0": one, "b": one})
    assert_same(flat_outputs((one, [one])), [one, one])


def test_a_signature_that_is_given(tmp_path, capsys):
    model = models.LinearEncoder(11, 2, num_buckets=8)
    expected = model({"token_ids": IDS})
    spec = keras.InputSpec(shape=(None, 4), dtype="int32", name="token_ids")
    model.export(tmp_path, input_signature=[{"token_ids": spec}])
    assert "`serve` takes {token_ids int32 [None, 4]}." in capsys.readouterr().out
    served = tf.saved_model.load(tmp_path)
    assert_same(served.serve({"token_ids": IDS}), expected)
    with pytest.raises(ValueError, match="Could not find matching concrete function"):
        served.serve({"token_ids": IDS[:, :2]})


@pytest.mark.slow
def test_inside_a_functional_model(tmp_path):
    tagger = models.Tagger(words(), ["a", "b"])
    inputs = {"token_ids": keras.Input([None], dtype="int32", name="token_ids")}
    model = keras.Model(inputs, tagger(inputs)["emissions"])
    model.export(tmp_path, verbose=False)
    served = tf.saved_model.load(tmp_path)  # keeps its variables alive
    found = served.serve({"token_ids": IDS})
    assert_same(found, tagger({"token_ids": IDS})["emissions"])


def test_inputs_are_those_of_the_parts():
    linear = models.LinearEncoder(11, 2, num_buckets=8)
    bert = models.BertEncoder(vocabulary_size=12, hidden_dim=8, num_layers=1, num_heads=2)
    pieces = models.PieceEncoder(bert, start_id=1, separator_id=2)
    tagger = models.Tagger(pieces, ["a", "b"], linear=linear)
    assert names(tagger) == [["piece_ids", "token_ids"], ["mask", "piece_ids", "token_ids"]]
    vectors = models.TokenEmbedder(vector_layers=2, vector_dim=4)
    assert names(models.TextCNN(vectors, num_filters=2)) == [["mask", "vectors"]]
    forward = models.BiLM(units=4, projection_dim=2, vocabulary_size=9, bidirectional=False)
    pretrainer = models.BiLMPretrainer(forward, vocabulary_size=9)
    assert names(pretrainer)[0] == ["next_token_id", "token_ids"]
    characters = models.BiLM(filters=[[1, 4]], units=4, projection_dim=2)
    found = names(models.BiLMPretrainer(characters, vocabulary_size=9))
    assert len(found) == 4 and "unknown_characters" in found[1]


def test_parts_by_name_and_by_class():
    bilm = models.BiLM(filters=[[1, 4]], units=4, projection_dim=2, max_characters=20)
    bilm.trainable = False  # so that Elmo shares it
    embedder = models.TokenEmbedder(vocabulary_size=11, embedding_dim=4, elmo=models.Elmo(bilm))
    linear = models.LinearEncoder(11, 2, num_buckets=8)
    tagger = models.Tagger(models.TextCNN(embedder, 3), ["a", "b"], linear=linear)
    assert tagger.parts() == {"encoder": tagger.encoder, "linear": linear}
    assert tagger.encoder.parts() == {"embedder": embedder}
    assert bilm.parts() == linear.parts() == {}
    inside = [tagger, tagger.encoder, embedder, embedder.elmo, bilm, linear]
    assert [*tagger._all_parts()] == inside
    assert tagger.find(models.BiLM) is bilm and bilm.find(models.BiLM) is bilm
    assert tagger.find(models.BertEncoder, models.TransformerEncoder) is None


def test_what_a_model_reads():
    assert (words()._num_tokens, words()._num_characters, words()._reads_vectors) == (
        11,
        None,
        False,
    )
    bilm = models.BiLM(filters=[[1, 4]], units=4, projection_dim=2, max_characters=20)
    tagger = models.Tagger(models.TokenEmbedder(elmo=models.Elmo(bilm)), ["a", "b"])
    assert (tagger._num_tokens, tagger._num_characters, tagger._reads_vectors) == (None, 20, False)
    assert bilm._num_characters == tagger.encoder.elmo._num_characters == 20
    of_words = models.BiLM(units=4, projection_dim=2, vocabulary_size=9)
    embedder = models.TokenEmbedder(elmo=models.Elmo(of_words), vector_layers=2, vector_dim=3)
    classifier = models.Classifier(models.BiLSTMEncoder(embedder, units=2), ["a", "b"])
    assert (classifier._num_tokens, classifier._num_characters) == (9, None)
    assert classifier._reads_vectors and CATALOGUE["HMMTagger"].make()._num_tokens == 11
    bert = models.BertEncoder(vocabulary_size=12, hidden_dim=8, num_layers=1, num_heads=2)
    pieces = models.PieceEncoder(bert, start_id=1, separator_id=2)
    assert models.Tagger(pieces, ["a"])._num_tokens == 12


def test_what_plots_show_of_a_model():
    bilm = models.BiLM(filters=[[1, 4]], units=4, projection_dim=2)
    elmo = models.Elmo(bilm)
    elmo.mixes[0].scalar_weights.assign(np.log([1.0, 2.0, 5.0]))
    embedder = models.TokenEmbedder(elmo=elmo, vector_layers=2, vector_dim=3)
    tagger = models.Tagger(embedder, ["O", "B-X", "I-X"], "bio")
    tagger.crf.set_scores(np.arange(9.0).reshape(3, 3))
    shares = tagger._mix_shares()
    assert_close(shares["elmo_mix"], [0.125, 0.25, 0.625])
    assert_close(shares["vector_mix"], [0.5, 0.5])
    expected = [[0, 1, np.nan], [3, 4, 5], [6, 7, 8]]  # O never precedes I-X
    np.testing.assert_array_equal(tagger.transition_scores(), expected)
    softmax = models.Tagger(words(), ["a", "b"], use_crf=False)
    assert softmax.transition_scores() is None and softmax._mix_shares() == {}
    assert models.Classifier(words(), ["a", "b"]).classes == softmax.classes == ["a", "b"]


def test_an_encoder_of_ones_own():
    class Mine(keras.Model):
        output_dim = 4

    with pytest.raises(ValueError, match="Mine does not specify its inputs. Pass an"):
        models.Tagger(Mine(), ["a", "b"]).export("nowhere")


def test_carried_states_are_not_exported(tmp_path):
    bilm = models.BiLM(
        **{"units": 4, "projection_dim": 2, "vocabulary_size": 9, "initial_state": "carry"}
    )
    for given in None, [tf.TensorSpec([None, None], "int32")]:
        with pytest.raises(ValueError, match='has `initial_state="carry"`.*`with_initial_state'):
            models.Elmo(bilm).export(tmp_path / "elmo", input_signature=given)
    assert not (tmp_path / "elmo").exists()


def test_options_of_other_formats():
    with pytest.raises(ValueError, match="the options .'opset_version'.*Omit them"):
        words().export("nowhere", opset_version=18)


def test_nothing_to_quantize(recwarn):
    plain = models.TextCNN(words(), num_filters=2), models.Tagger(words(), ["a", "b"])
    hmm = CATALOGUE["HMMTagger"].make()
    for model in (*plain, hmm, words(), models.LinearEncoder(11, 2, num_buckets=8)):
        with pytest.raises(
            NotImplementedError, match=f"{type(model).__name__} .* has no layer to quantize"
        ):
            model.quantize("int8")
    model = models.BertEncoder(vocabulary_size=12, hidden_dim=8, num_layers=1, num_heads=2)
    model.quantize("int8")
    assert model.blocks[0].expand.kernel.dtype == "int8"


def test_next_to_what_can_be_quantized():
    hmm = CATALOGUE["HMMTagger"].make()
    ids = keras.Input([None], dtype="int32")
    dense = keras.layers.Dense(2)
    model = keras.Model(ids, dense(hmm(ids)["emissions"]))
    with pytest.warns(UserWarning) as noted:  # the other layers warn too
        model.quantize("int8")
    assert any("no layer to quantize" in str(note.message) for note in noted)
    assert dense.kernel.dtype == "int8"


def test_summary_counts_every_weight():
    """The rows of the layers and the weights in no layer add up to all weights."""
    tagger = models.Tagger(words(), ["O", "A"])
    lines = []
    tagger.summary(print_fn=lines.append)
    assert lines[1] == " Params in none of these layers: 10 (kernel (4, 2), bias (2,))"
    assert tagger.count_params() == 10 + sum(layer.count_params() for layer in tagger.layers)


def test_summary_of_a_model_of_layers(capsys):
    models.BiLSTMEncoder(words(), units=4).summary()
    assert "none of these layers" not in capsys.readouterr().out
    words().summary()
    assert "layers: 48 (word_embeddings (12, 4))" in capsys.readouterr().out
