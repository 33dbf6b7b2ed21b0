"""Exports of taggers and classifiers: answers equal to the model's, in a process without tfreps."""

import json
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tfreps.models import (
    BiLSTMEncoder,
    Classifier,
    HMMTagger,
    PieceEncoder,
    SLSTMEncoder,
    Tagger,
    TextCNN,
    TokenEmbedder,
)
from tfreps.text import TokenFeatures
from tfreps.text.piece_features import PieceFeatures
from tfreps.text.tags import spans
from tfreps.text_model import TextModel
from tfreps.text_signatures import export_text_model

WORDS = ["Ada", "lives", "in", "London", "."]
TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
TEXTS = ["Ada Lovelace lives in London.", "", "naïve London, London!", "."]


def make_trained(kind):
    """Untrained models of every kind with weights large enough to decide something."""
    keras.utils.set_random_seed(3)
    features = TokenFeatures.from_sentences([WORDS], max_characters=12)
    options = {"vocabulary_size": features.vocabulary_size, "embedding_dim": 6}
    embedder = TokenEmbedder(**options, characters="cnn", max_characters=12)
    model = {
        "crf": lambda: Tagger(BiLSTMEncoder(embedder, 5), TAGS, "bio"),
        "softmax": lambda: Tagger(SLSTMEncoder(embedder, 5, 2), TAGS, "bio", use_crf=False),
        "plain": lambda: Tagger(embedder, ["NOUN", "VERB"]),
        "hmm": lambda: HMMTagger(features.vocabulary_size, TAGS, "bio"),
        "cnn": lambda: Classifier(TextCNN(embedder, 7), ["bad", "good", "so-so"], "pooled"),
        "attention": lambda: Classifier(embedder, ["bad", "good"], "attention"),
    }[kind]()
    for weight in model.trainable_weights:
        weight.assign(
            2.0 * np.asarray(weight) + 0.1 * np.random.default_rng(1).normal(size=weight.shape)
        )
    return TextModel(model, features, tokens="words", max_length=4 if kind == "cnn" else None)


def ask(folder, signature="default", **inputs):
    outputs = tf.saved_model.load(str(folder)).signatures[signature](**inputs)
    return {name: value.numpy() for name, value in outputs.items()}


@pytest.mark.parametrize(
    "kind", ["crf", pytest.param("softmax", marks=pytest.mark.slow), "plain", "hmm"]
)
def test_taggers_answer_as_the_model_does(tmp_path, kind):
    trained = make_trained(kind)
    names = export_text_model(trained, tmp_path / "1")
    assert names == ["default", "serving_default", "tokens"]
    answer = ask(tmp_path / "1", text=tf.constant(TEXTS))
    tokens = trained.tokenize(TEXTS)
    assert answer["sequence_len"].tolist() == [6, 0, 5, 1]
    for row, (words, expected) in enumerate(zip(tokens, trained.tag(tokens), strict=True)):
        n = len(words)
        assert [t.decode() for t in answer["tokens"][row, :n]] == words
        assert [t.decode() for t in answer["tags"][row, :n]] == expected.tags
        np.testing.assert_allclose(answer["confidences"][row, :n], expected.confidences, atol=1e-5)
        assert (answer["tags"][row, n:] == b"").all() and not answer["confidences"][row, n:].any()
        if trained.scheme:
            k = answer["num_spans"][row]
            types = [kind.decode() for kind in answer["span_types"][row, :k]]
            ends = answer["span_starts"][row, :k], answer["span_ends"][row, :k]
            assert list(zip(types, *ends, strict=True)) == spans(expected.tags, "bio")
    assert ("num_spans" in answer) == (kind != "plain")


@pytest.mark.parametrize("kind", ["cnn", "attention"])
def test_classifiers_answer_as_the_model_does(tmp_path, kind):
    trained = make_trained(kind)
    export_text_model(trained, tmp_path / "1")
    answer = ask(tmp_path / "1", text=tf.constant(TEXTS))
    expected = trained.classify(trained.tokenize(TEXTS))
    assert [label.decode() for label in answer["label"]] == [e.label for e in expected]
    shares = [list(e.probabilities.values()) for e in expected]
    np.testing.assert_allclose(answer["probabilities"], shares, atol=1e-6)
    np.testing.assert_allclose(answer["probability"], np.max(shares, axis=1), atol=1e-6)
    assert answer["labels"].tolist() == [[n.encode() for n in trained.names]] * 4
    assert answer["sequence_len"].tolist() == ([4, 0, 4, 1] if kind == "cnn" else [6, 0, 5, 1])


def test_tokens_beyond_their_length_are_ignored(tmp_path):
    trained = make_trained("crf")
    export_text_model(trained, tmp_path / "1")
    tokens = tf.constant([["Ada", "lives", "here"], ["in", "London", "."]])
    answer = ask(tmp_path / "1", "tokens", tokens=tokens, sequence_len=tf.constant([3, 1]))
    assert answer["tokens"].tolist() == [[b"Ada", b"lives", b"here"], [b"in", b"", b""]]
    alone = ask(tmp_path / "1", text=tf.constant(["in"]))
    np.testing.assert_allclose(answer["confidences"][1, 0], alone["confidences"][0, 0], atol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="one value per row"):
        ask(tmp_path / "1", "tokens", tokens=tokens, sequence_len=tf.constant([4, 1]))


def test_tensorflow_alone_can_serve_it(tmp_path):
    trained = make_trained("crf")
    export_text_model(trained, tmp_path / "1")
    code = (
        "import json, sys, tensorflow as tf\n"
        "answer = tf.saved_model.load(sys.argv[1]).signatures['serving_default']\n"
        "tags = answer(text=tf.constant([sys.argv[2]]))['tags'].numpy()\n"
        "assert 'tfreps' not in sys.modules\n"
        "print(json.dumps([tag.decode() for tag in tags[0]]))"
    )
    command = [sys.executable, "-I", "-c", code, str(tmp_path / "1"), TEXTS[0]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == trained.tag(trained.tokenize(TEXTS[:1]))[0].tags


def asks_for_xla(folder):
    return b"_XlaMustCompile\x12\x02(\x01" in (folder / "saved_model.pb").read_bytes()


def test_nothing_in_an_export_asks_for_xla(tmp_path):
    """TensorFlow Serving keeps XLA off on CPUs."""
    export_text_model(make_trained("crf"), tmp_path / "1")
    assert not asks_for_xla(tmp_path / "1")
    compiled = tf.function(lambda x: {"y": x + 1.0}, jit_compile=True)
    compiled = compiled.get_concrete_function(tf.TensorSpec([None], tf.float32, "x"))
    tf.saved_model.save(tf.Module(), str(tmp_path / "2"), {"serving_default": compiled})
    assert asks_for_xla(tmp_path / "2")


def test_stored_vectors_cannot_be_served(tmp_path):
    trained = make_trained("plain")
    trained.model.encoder.vector_layers = 3
    with pytest.raises(ValueError, match="train it with --elmo instead"):
        export_text_model(trained, tmp_path / "1")
    assert not list(tmp_path.iterdir())


BERT_TEXTS = ["房间 Hotels 3", "", "房" * 50, "x"]


@pytest.mark.parametrize("kind", ["pieces", "characters"])
def test_classifiers_on_a_bert_cut_texts_themselves(tmp_path, kind):
    words = ["房", "间", "hotels"]
    tokenizer = tiny_bert.pieces(*words) if kind == "pieces" else tiny_bert.characters(*words)
    bert = tiny_bert.make_encoder(tokenizer, pooler=False)
    model = Classifier(bert, ["bad", "good"], "mean_max")
    trained = TextModel(model, PieceFeatures(tokenizer), tokens="bert", max_length=24)
    export_text_model(trained, tmp_path / "1")
    answer = ask(tmp_path / "1", text=tf.constant(BERT_TEXTS))
    rows = trained.tokenize(BERT_TEXTS)
    assert answer["sequence_len"].tolist() == [len(row) for row in rows]
    expected = [list(a.probabilities.values()) for a in trained.classify(rows)]
    np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)
    words = tf.constant([["房", "间", "Hotels", "3", "left out"], [""] * 5])
    lengths = tf.constant([4, 0])
    again = ask(tmp_path / "1", "tokens", tokens=words, sequence_len=lengths)
    np.testing.assert_allclose(again["probabilities"], expected[:2], atol=1e-5)
    assert again["sequence_len"].tolist() == answer["sequence_len"][:2].tolist()
    assert b"Fast" not in (tmp_path / "1" / "saved_model.pb").read_bytes()  # of tensorflow-text


@pytest.mark.slow
def test_taggers_on_a_bert_tag_words(tmp_path):
    tokenizer = tiny_bert.pieces("房", "间", "hotels")
    bert = tiny_bert.make_encoder(tokenizer, pooler=False)
    words = PieceEncoder(bert, tokenizer.start_id, tokenizer.separator_id)
    features = PieceFeatures(tokenizer, words=True)
    trained = TextModel(Tagger(words, TAGS, "bio"), features, tokens="words", max_length=24)
    export_text_model(trained, tmp_path / "1")
    texts = ["Hotels 房间!", ""]
    answer = ask(tmp_path / "1", text=tf.constant(texts))
    for row, expected in enumerate(trained.tag(trained.tokenize(texts))):
        n = len(expected.tags)
        assert [t.decode() for t in answer["tags"][row, :n]] == expected.tags
        np.testing.assert_allclose(answer["confidences"][row, :n], expected.confidences, atol=1e-5)
    assert answer["sequence_len"].tolist() == [3, 0]
    with pytest.raises(tf.errors.InvalidArgumentError):
        ask(tmp_path / "1", text=tf.constant(["房 " * 30]))
