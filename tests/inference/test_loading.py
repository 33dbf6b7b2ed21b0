"""tfreps.load opens every kind of path, and rejects paths without a model."""

import keras
import numpy as np
import pytest

import tfreps
from tests import known_models, tiny_bert
from tests.bilm_tf_run import training_arrays, training_options, write_training_folder
from tests.closeness import assert_close
from tests.known_models import softmax
from tests.tiny_run import VOCABULARY, make_pretrainer, make_run
from tfreps import load
from tfreps._src.convert import bilm_tf_checkpoint
from tfreps._src.inference.model_loading import load_as
from tfreps.inference import TextBert, TextBiLM, TextClassifier, TextTagger
from tfreps.models import (
    BertPretrainer,
    BiLMPretrainer,
    Classifier,
    Elmo,
    PieceEncoder,
    Tagger,
    TokenEmbedder,
)
from tfreps.runs import RunFolder
from tfreps.text import Vocabulary, write_tokenizer

WORDS = {"vocabulary_size": len(VOCABULARY)}


@pytest.mark.few(2)
@pytest.mark.parametrize("is_slow", [False, True])
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "float32"])
def test_a_model_that_computes_in_bfloat16(tmp_path, monkeypatch, caplog, is_slow, policy):
    monkeypatch.setattr("tfreps._src.inference.model_loading.bfloat16_is_slow", lambda: is_slow)
    path, _ = make_run(tmp_path / "run", dtype=policy, num_layers=1)
    assert load(path).model.bilm.compute_dtype == policy.removeprefix("mixed_")
    warned = is_slow and policy != "float32"
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warned
    assert not warned or f"{path} computes in bfloat16" in caplog.text


def test_a_classifier(tmp_path):
    run = known_models.classifier_run(tmp_path / "run", max_length=3)
    classifier = load(str(run.path))
    assert isinstance(classifier, TextClassifier) and classifier.max_length == 3
    assert classifier("Rome").label == "good" and classifier("Ada").label == "bad"


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["tagger", "classifier"])
def test_a_run_with_bert(tmp_path, kind):
    tokenizer = tiny_bert.pieces("房", "间", "hotels")
    bert = tiny_bert.make_encoder(tokenizer, pooler=False)
    run = RunFolder.create(tmp_path / "run", f"train-{kind}", {"tokens": "bert", "max_length": 9})
    write_tokenizer(tokenizer, run.tokenizer_path)
    if kind == "tagger":
        words = PieceEncoder(bert, tokenizer.start_id, tokenizer.separator_id)
        run.save_model(Tagger(words, ["A", "B"]))
    else:
        run.save_model(Classifier(bert, ["a", "b"]))
    found = load(run.path)
    assert found.max_length == 9 and found.tokenizer.vocabulary == tokenizer.vocabulary
    expected = ["房", "hotels"] if kind == "tagger" else ["[CLS]", "房", "hote", "##ls", "[SEP]"]
    assert found.tokenize(["房hotels"]) == [expected]
    write_tokenizer(tiny_bert.pieces("房", "间", "hotels", "more"), run.tokenizer_path)
    with pytest.raises(ValueError, match="the vocabulary belongs to another model"):
        load(run.path)


@pytest.mark.slow
def test_a_bilm(tmp_path):
    path, model = make_run(tmp_path / "run", num_layers=1)
    found = load(path)
    assert isinstance(found, TextBiLM) and isinstance(found.model, BiLMPretrainer)
    assert found.vocabulary.tokens == VOCABULARY.tokens and found.bilm.initial_state == "zero"
    expected = model.bilm.with_initial_state("warm")
    warm = load(path, initial_state="warm").bilm
    assert warm.initial_state == "warm"
    for weight, other in zip(warm.weights, expected.weights, strict=True):
        np.testing.assert_array_equal(weight, other)


def test_runs_of_other_bilms(tmp_path):
    run = RunFolder.create(tmp_path / "run", "other", {})
    run.save_model(Elmo(make_pretrainer().bilm))
    found = load(run.path)
    assert isinstance(found.model, Elmo) and found.vocabulary is None


@pytest.mark.slow
def test_a_published_bilm(tmp_path):
    bilm = make_pretrainer(num_layers=1).bilm
    bilm.save_pretrained(tmp_path / "elmo")
    expected = bilm.with_initial_state("warm")(tfreps.text.batch_to_ids([["the"]]))
    moved = (tmp_path / "elmo" / "weights.hdf5").rename(tmp_path / "moved.hdf5")
    options = tmp_path / "elmo" / "options.json"
    with pytest.raises(ValueError, match="found none. Pass .* as `weights_file`"):
        load(options)
    elsewhere = load(options, initial_state="warm", weights_file="../moved.hdf5")
    moved.rename(tmp_path / "elmo" / "weights.hdf5")
    found = load(tmp_path / "elmo", initial_state="warm")
    assert found.model is found.bilm and found.vocabulary is None
    assert_close(found("the").vectors, expected["layer_outputs"][0])
    for weight, other in zip(elsewhere.bilm.weights, found.bilm.weights, strict=True):
        np.testing.assert_array_equal(weight, other)


def test_a_training_folder_of_bilm_tf(tmp_path):
    options = training_options({"n_layers": 1}, characters=None)
    write_training_folder(tmp_path / "run", options, training_arrays(options))
    tokens = [*VOCABULARY.tokens, "zebra"]
    found = load(tmp_path / "run", vocabulary=Vocabulary(tokens))
    theirs = bilm_tf_checkpoint.weights_of(
        bilm_tf_checkpoint.read_training_folder(tmp_path / "run").model
    )
    for name, weight in bilm_tf_checkpoint.weights_of(found.model).items():
        np.testing.assert_array_equal(weight, theirs[name], err_msg=name)
    assert found("the zebra").vectors.shape == (2, 2, 8)
    with pytest.raises(ValueError, match="`vocabulary` is missing: .* that .*run was trained"):
        load(tmp_path / "run")


@pytest.mark.slow
def test_a_run_of_pretraining(tmp_path):
    tokenizer = tiny_bert.pieces("the", "river")
    path, encoder = tiny_bert.write_run(tmp_path / "run", tokenizer)
    found = load(path)
    assert isinstance(found, TextBert) and isinstance(found.model, BertPretrainer)
    ids = [[2, *tokenizer.text_to_ids("the river"), 3]]
    out = encoder({"token_ids": np.array(ids)})
    assert_close(found("the river").vectors, out["sequence_output"][0])
    first = load(path, num_layers=1)
    assert first.model.num_layers == 1
    assert_close(first("the river").vectors, out["layer_outputs"][0, 1])


def test_a_published_bert(tmp_path):
    tokenizer = tiny_bert.pieces("the", "river")
    path, encoder = tiny_bert.write_checkpoint(tmp_path / "bert", tokenizer)
    found = load(path, num_layers=1)
    out = encoder({"token_ids": np.array([[2, *tokenizer.text_to_ids("the river"), 3]])})
    assert_close(found("the river").vectors, out["layer_outputs"][0, 1])
    (path / "vocab.txt").unlink()
    silent = load(path)
    assert silent.tokenizer is None and silent.transformer.num_layers == 2
    with pytest.raises(ValueError, match="has no vocabulary"):
        silent("the")


@pytest.mark.slow
def test_a_published_tagger(tmp_path, caplog):
    tokenizer = tiny_bert.pieces("the", "river")
    model = Tagger(tiny_bert.make_encoder(tokenizer), ["O", "B-X", "I-X"], use_crf=False)
    model.save_pretrained(tmp_path / "bert")
    tokenizer.write_vocabulary(tmp_path / "bert" / "vocab.txt")
    assert load(tmp_path / "bert", scheme="iob1").scheme == "iob1"
    with caplog.at_level("INFO", "tfreps"):
        assert load(tmp_path / "bert").scheme == "bio"
    assert "the tags are read in the scheme bio, which their names match" in caplog.text
    assert Tagger.from_preset(tmp_path / "bert").scheme == "bio"
    assert load(tmp_path / "bert").tokenize(["the, river"]) == [["the", ",", "river"]]
    split = load(tmp_path / "bert", tokens="spaces")
    assert split.tokenize(["the, river"]) == [["the,", "river"]]
    found = load(tmp_path / "bert", scheme="none")
    assert isinstance(found, TextTagger) and found.scheme is None and found.max_length == 24
    out = model({"token_ids": np.array([[2, *tokenizer.text_to_ids("the"), 3]])})
    shares, answer = softmax(out["emissions"][0, 1]), found("the")
    assert answer.tags == [model.tags[shares.argmax()]]
    assert_close(answer.confidences[0], shares.max())


def test_tags_of_no_scheme(tmp_path, caplog):
    tokenizer = tiny_bert.pieces("the", "river")
    model = Tagger(tiny_bert.make_encoder(tokenizer), ["NOUN", "VERB"], use_crf=False)
    model.save_pretrained(tmp_path / "bert")
    with caplog.at_level("INFO", "tfreps"):
        assert Tagger.from_preset(tmp_path / "bert").scheme is None
    assert "the tags (NOUN, VERB, ...) have no spans. If they mark spans, name them" in caplog.text


@pytest.mark.slow
def test_a_published_classifier(tmp_path):
    tokenizer = tiny_bert.pieces("the", "river")
    model = Classifier(tiny_bert.make_encoder(tokenizer), ["bad", "good", "so-so"], "pooled_output")
    model.save_pretrained(tmp_path / "bert")
    tokenizer.write_vocabulary(tmp_path / "bert" / "vocab.txt")
    found = load(tmp_path / "bert")
    out = model({"token_ids": np.array([[2, *tokenizer.text_to_ids("the river"), 3]])})
    shares = list(found("the river").probabilities.values())
    assert_close(shares, out["probabilities"][0])
    with pytest.raises(ValueError, match="is a classifier, which has no tag scheme"):
        load(tmp_path / "bert", scheme="bio")
    with pytest.raises(ValueError, match="`tokens` applies only to a tagger, but"):
        load(tmp_path / "bert", tokens="spaces")
    with pytest.raises(ValueError, match="`num_layers` applies only to a BERT model without"):
        load(tmp_path / "bert", num_layers=1)


def test_options_of_other_models(tmp_path):
    run = known_models.tagger_run(tmp_path / "tagger")
    for name, value in {"initial_state": "warm", "num_layers": 1, "scheme": "bio"}.items():
        message = f"`{name}` applies only to .* contains a tagger. Omit `{name}`"
        with pytest.raises(ValueError, match=message):
            load(run.path, **{name: value})
    path, _ = make_run(tmp_path / "bilm")
    with pytest.raises(ValueError, match="contains a biLM with its own vocabulary. Omit"):
        load(path, vocabulary=VOCABULARY)


def test_one_kind_alone(tmp_path):
    run = known_models.tagger_run(tmp_path / "tagger")
    assert isinstance(load_as(TextTagger, run.path), TextTagger)
    with pytest.raises(ValueError, match=r"contains a tagger \(Tagger\); expected a biLM"):
        load_as(TextBiLM, run.path)


def test_nothing_to_load(tmp_path):
    with pytest.raises(ValueError, match="nowhere does not exist. Expected a local path"):
        load(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="as a path, a name or an address; got None. `tfreps.pre"):
        load(None)
    with pytest.raises(
        ValueError,
        match="no model that can be loaded; it contains nothing. Expected one of: a run folder",
    ):
        load(tmp_path)
    (tmp_path / "options.json").write_text("{")
    with pytest.raises(ValueError, match="is not a JSON file"):
        load(tmp_path)
    run = RunFolder.create(tmp_path / "new", "train-tagger", {})
    with pytest.raises(ValueError, match="has not saved a model yet"):
        load(run.path)
    run.save_model(TokenEmbedder(vocabulary_size=9, embedding_dim=2))
    with pytest.raises(ValueError, match="contains a TokenEmbedder; expected one of: Tagger, HMM"):
        load(run.path)
    inputs = keras.Input([2])
    run.save_model(keras.Model(inputs, keras.layers.Dense(1)(inputs)))
    with pytest.raises(ValueError, match="contains a Functional"):
        load(run.path)
