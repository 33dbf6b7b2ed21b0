"""Texts, names and lists passed to fit and evaluate."""

import numpy as np
import pytest
import tensorflow as tf

from tfreps.data import SequenceBatches
from tfreps.models import Classifier, TextCNN, TokenEmbedder
from tfreps.text import TokenIndexer

TOKENS = [["a", "dog"], ["yes"], ["a", "cat"]]
NAMES = ["animal", "answer", "animal"]
FEATURES = {"token_ids": np.array([[4, 5], [6, 0], [4, 7]])}
BATCHES = SequenceBatches(TOKENS, [0, 1, 0], TokenIndexer.from_sentences(TOKENS))


@pytest.fixture(scope="module")
def classifier():
    encoder = TextCNN(TokenEmbedder(vocabulary_size=9), num_filters=2, widths=[1])
    classifier = Classifier(encoder, ["animal", "answer"], pooling="pooled")
    classifier.compile("adam")
    return classifier


@pytest.mark.parametrize(
    "x, y, message",
    [
        (
            FEATURES,
            NAMES,
            "`y` must be an array .*; got a list of str. Replace each name by its pos",
        ),
        (FEATURES, np.array(NAMES), "`y` must be .*; got values of dtype <U6"),
        (FEATURES, np.array(NAMES, object), "`y` must be .*; got values of dtype object"),
        (FEATURES, [0, 1, 0], "`y` must be .*; got a list of int. .* a list by `np.array.y.`"),
        (TOKENS, NAMES, "`x` must be .*; got a list of list. Convert tokens with `tfreps.data.Seq"),
        ("a dog", None, "`x` must be .*; got a str"),
        (np.array(["a dog"]), None, "`x` must be .*; got values of dtype <U5"),
        (BATCHES, None, "`x` must be .*; got a SequenceBatches. Pass its `dataset..`"),
    ],
)
def test_what_keras_rejects_without_a_reason(classifier, x, y, message):
    for method in (classifier.fit, classifier.evaluate):
        with pytest.raises(ValueError, match=message):
            method(x, y, verbose=0)


def test_the_remedies_work(classifier):
    y = np.array([classifier.classes.index(name) for name in NAMES])
    assert classifier.evaluate(FEATURES, y, verbose=0, return_dict=True)["loss"] > 0
    data = tf.data.Dataset.from_tensors((FEATURES, y))
    by_batch = classifier.evaluate(data, verbose=0, return_dict=True)
    whole = classifier.evaluate(x=FEATURES, y=tf.constant(y), verbose=0, return_dict=True)
    assert by_batch == whole
    assert classifier.evaluate(BATCHES.dataset(), verbose=0, return_dict=True)["loss"] > 0
