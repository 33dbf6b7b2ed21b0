"""Temperatures of taggers and classifiers: what they change, and what they do not change."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.closeness import assert_close
from tfreps.models import Classifier, HMMTagger, Tagger, TokenEmbedder

pytestmark = pytest.mark.usefixtures("eager_if_quick")

TAGS = ["O", "B-X", "I-X"]
IDS = np.array([[1, 2, 3, 1], [2, 3, 0, 0], [0, 0, 0, 0]], "int32")
FEATURES = {"token_ids": IDS}
T = 2.5


def tagger(temperature=1.0, **options):
    model = Tagger(TokenEmbedder(3, 3), TAGS, dropout=0.0, temperature=temperature, **options)
    return randomized(model)


def randomized(model):
    for number, weight in enumerate(model.trainable_weights):
        weight.assign(2 * keras.random.normal(weight.shape, seed=number))
    return model


def hmm(temperature=1.0):
    model = HMMTagger(3, TAGS, unknown_id=3, temperature=temperature)
    model.fit_counts([[1, 2, 1], [2, 2]], [[0, 1, 2], [1, 0]])
    return model


def divided(model):
    """Divides all scores of a tagger by T, in its weights."""
    names = "kernel", "bias", "transition_weights", "start_weights", "end_weights"
    for weight in model.weights:
        if weight.name in names or weight.name.startswith("log_"):
            weight.assign(weight / T)
    return model


KINDS = {
    "crf": tagger,
    "hmm": hmm,
    "softmax": lambda t=1.0: tagger(t, use_crf=False),
    "crf of spans": lambda t=1.0: tagger(t, scheme="bio"),
    "softmax of spans": lambda t=1.0: tagger(t, scheme="bio", use_crf=False),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_confidences_are_those_of_divided_scores(kind):
    model, plain, weak = KINDS[kind](T), KINDS[kind](), divided(KINDS[kind]())
    assert_close(model.marginals(FEATURES), weak.marginals(FEATURES))
    found, before = model.tag(FEATURES), plain.tag(FEATURES)
    np.testing.assert_array_equal(found["tags"], before["tags"])
    expected = tf.gather(weak.marginals(FEATURES), before["tags"], batch_dims=2)
    assert_close(found["confidences"], expected)
    assert np.abs(found["confidences"] - before["confidences"]).max() > 0.01
    assert_close(model(FEATURES)["emissions"], plain(FEATURES)["emissions"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_sequences_are_those_of_divided_scores(kind):
    model, plain, weak = KINDS[kind](T), KINDS[kind](), divided(KINDS[kind]())

    def log_probabilities(model):
        tags, scores = model.decode(FEATURES, k=90)  # there are 81 sequences
        return tags, scores - model.log_normalizer(FEATURES)[:, None]

    (tags, found), (before, _), (_, expected) = map(log_probabilities, (model, plain, weak))
    np.testing.assert_array_equal(tags, before)
    assert_close(found, expected)
    assert_close(tf.reduce_sum(tf.exp(found), 1), 1.0)


@pytest.mark.slow
def test_a_temperature_of_a_tagger_changes_neither_loss_nor_metrics():
    losses = []
    for temperature in 1.0, T:
        model = tagger(temperature, scheme="bio")
        model.compile("sgd")
        losses.append(model.evaluate(FEATURES, np.zeros_like(IDS), verbose=0, return_dict=True))
    assert losses[0] == losses[1]


def classifier(temperature=1.0):
    model = Classifier(TokenEmbedder(3, 3), ["a", "b", "c"], dropout=0.0, temperature=temperature)
    return randomized(model)


def test_classifier():
    model, plain = classifier(T), classifier()
    outputs, before = model(FEATURES), plain(FEATURES)
    assert_close(outputs["logits"], before["logits"])
    assert_close(outputs["probabilities"], tf.nn.softmax(before["logits"] / T))
    found, expected = model.predict(FEATURES, verbose=0), plain.predict(FEATURES, verbose=0)
    np.testing.assert_array_equal(found["labels"], expected["labels"])
    assert_close(found["probabilities"], outputs["probabilities"])
    losses = []
    for each in model, plain:
        each.compile("sgd", run_eagerly=True)
        losses.append(each.evaluate(FEATURES, np.array([0, 1, 2]), verbose=0, return_dict=True))
    assert losses[0] == losses[1]


@pytest.mark.few(1)
@pytest.mark.parametrize("make", [classifier, tagger, hmm])
def test_files_and_presets_have_the_temperature(make, tmp_path):
    model = make(T)
    model.save(tmp_path / "model.keras")
    model.save_to_preset(tmp_path / "preset")
    expected = model.predict(FEATURES, verbose=0)
    for loaded in (
        keras.saving.load_model(tmp_path / "model.keras"),
        type(model).from_preset(tmp_path / "preset"),
    ):
        assert loaded.temperature == T
        for name, values in loaded.predict(FEATURES, verbose=0).items():
            np.testing.assert_array_equal(values, expected[name])


@pytest.mark.slow
def test_presets_of_bert_have_the_temperature(tmp_path):
    """The files of transformers have no temperature, so the preset is one for tfreps alone."""
    model = Classifier(
        tiny_bert.make_encoder(tiny_bert.characters("ab"), pooler=True),
        ["a", "b"],
        pooling="pooled_output",
        temperature=T,
    )
    with pytest.raises(ValueError, match="`temperature` must be 1.0 for Hugging Face's Bert"):
        model.save_pretrained(tmp_path / "published")
    model.save_to_preset(tmp_path / "preset")
    loaded = Classifier.from_preset(tmp_path / "preset")
    np.testing.assert_array_equal(
        loaded(FEATURES)["probabilities"], model(FEATURES)["probabilities"]
    )


@pytest.mark.parametrize("make", [tagger, hmm, classifier])
@pytest.mark.parametrize("wrong", [0.0, -1.0, float("nan"), float("inf"), None])
def test_wrong_temperatures(make, wrong):
    with pytest.raises(
        ValueError, match=f"`temperature` must be a finite number above 0; got {wrong}"
    ):
        make(wrong)
