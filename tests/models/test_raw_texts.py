"""Tests that models with a preprocessor read raw texts like the features of these texts."""

import numpy as np
import pytest
import tensorflow as tf

import tfreps
from tests.closeness import assert_close
from tfreps.inference import TextClassifier, TextTagger
from tfreps.models import BertEncoder, Classifier, Tagger, TokenEmbedder
from tfreps.text import TokenIndexer

pytestmark = pytest.mark.usefixtures("eager_if_quick")

TEXTS = ["a fine hotel", "", "bad", "a bad bad hotel, really"]
LABELS = np.array([1, 0, 0, 0])
VOCABULARY = [*"[PAD] [UNK] [CLS] [SEP] [MASK]".split(), *"a fine hotel bad , real ##ly".split()]


def classifier(max_length=None):
    indexer = TokenIndexer.from_sentences([text.split() for text in TEXTS])
    model = Classifier(TokenEmbedder(indexer.vocabulary_size, 8), ["bad", "good"], dropout=0.0)
    return TextClassifier(model, indexer, max_length=max_length)


@pytest.fixture
def bert_folder(tmp_path):
    model = BertEncoder(len(VOCABULARY), hidden_dim=8, num_layers=1, num_heads=2)
    model.save_pretrained(tmp_path / "bert")
    (tmp_path / "bert" / "vocab.txt").write_text("\n".join(VOCABULARY))
    return tmp_path / "bert"


def weights_after_training(model, x, y=None, **options):
    start = model.get_weights()
    model.compile("sgd")
    history = model.fit(x, y, epochs=2, verbose=0, shuffle=False, **options).history
    trained = model.get_weights()
    model.set_weights(start)
    return [*trained, *(np.array(values) for values in history.values())]


@pytest.mark.parametrize("max_length", [None, 2])
def test_lists_arrays_and_data_sets(max_length):
    loaded = classifier(max_length)
    model = loaded.model
    rows = [text.split()[:max_length] for text in TEXTS]
    width = max(map(len, rows))
    tokens = np.array([row + [""] * (width - len(row)) for row in rows])
    features = {name: value.numpy() for name, value in loaded.indexer(tf.constant(tokens)).items()}
    more = {"validation_split": 0.5, "batch_size": 2}
    expected = weights_after_training(model, features, LABELS, **more)
    for x in TEXTS, np.array(TEXTS), np.array(TEXTS, object):
        for one, other in zip(
            weights_after_training(model, x, LABELS, **more), expected, strict=True
        ):
            assert_close(one, other)
    expected = model.evaluate(features, LABELS, batch_size=2, verbose=0, return_dict=True)
    data = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(2)
    assert_close(model.evaluate(data, verbose=0, return_dict=True), expected)
    assert_close(model.evaluate(TEXTS, LABELS, 2, verbose=0, return_dict=True), expected)
    expected = [answer.probabilities["good"] for answer in loaded(TEXTS)]
    texts = tf.data.Dataset.from_tensor_slices(TEXTS).batch(3)
    for x in TEXTS, texts:
        assert_close(model.predict(x, verbose=0)["probabilities"][:, 1], expected)


def test_validation_data_are_read_too():
    model = classifier().model
    model.compile("sgd")
    data = tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(4)
    found = [
        model.fit(TEXTS, LABELS, validation_data=given, verbose=0, epochs=1).history
        for given in [(TEXTS, LABELS), data]
    ]
    assert {"val_loss", "val_accuracy"} <= set(found[0]) & set(found[1])


def test_a_model_without_a_preprocessor():
    model = Classifier(TokenEmbedder(9, 4), ["bad", "good"])
    model.compile("sgd")
    with pytest.raises(ValueError, match="Raw texts need a model with a `preprocessor`"):
        model.fit(TEXTS, LABELS)


def test_a_tagger_reads_the_tokens_of_its_tokenizer():
    indexer = TokenIndexer.from_sentences([["a", "fine", "hotel", ","]])
    loaded = TextTagger(Tagger(TokenEmbedder(indexer.vocabulary_size, 4), "AB"), indexer, "words")
    found = loaded.model.predict(["a fine hotel,", "hotel"], verbose=0)
    assert found["mask"].sum(-1).tolist() == [4, 1]
    names = [[loaded.names[tag] for tag in row] for row in found["tags"]]
    assert names[0] == loaded("a fine hotel,").tags and names[1][:1] == loaded("hotel").tags


@pytest.mark.parametrize("options", [{"labels": ["bad", "good"]}, {"num_classes": 2}])
def test_a_new_classifier_on_a_published_bert(options, bert_folder):
    model = Classifier.from_preset(bert_folder, **options)
    assert model.labels == options.get("labels", ["LABEL_0", "LABEL_1"])
    found = model.predict(TEXTS, verbose=0)["probabilities"]
    loaded = TextClassifier(model, model.preprocessor.indexer)
    assert_close(found, [list(loaded(text).probabilities.values()) for text in TEXTS])
    model.compile("sgd")
    model.fit(TEXTS, LABELS, verbose=0)


@pytest.mark.slow
def test_a_new_tagger_on_a_published_bert(bert_folder):
    model = Tagger.from_preset(bert_folder, tags=["O", "B-X", "I-X"], scheme="bio")
    found = model.predict(TEXTS, verbose=0)
    assert found["mask"].sum(-1).tolist() == [3, 0, 1, 6]
    loaded = TextTagger(model, model.preprocessor.indexer, "bert")
    for row, mask, text in zip(found["tags"], found["mask"], TEXTS, strict=True):
        assert [model.tags[tag] for tag in row[mask]] == loaded(text).tags


def test_sources_without_a_bert(tmp_path):
    classifier().save_to_preset(tmp_path / "cnn")
    with pytest.raises(ValueError, match="must contain a BERT with its tokenizer .* got a Classif"):
        Classifier.from_preset(tmp_path / "cnn", labels=["a", "b"])
    model = tfreps.load(tmp_path / "cnn").model
    assert model.predict(TEXTS, verbose=0)["labels"].shape == (4,)
