"""Texts, lists and batches passed to fit, evaluate and predict."""

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
    classifier = Classifier(encoder, ["animal", "answer"], pooling="pooled_output")
    classifier.compile("adam")
    return classifier


@pytest.mark.parametrize(
    "x, message",
    [
        (["a dog", "yes"], "got a list of str. Convert tokens with `tfreps.data.SequenceBatches"),
        (TOKENS, "got a list of list. Convert tokens with"),
        ([], "got a list. Convert tokens with"),
        ({"token_ids": [[1, 2], [3]]}, "got a list of list. .* lists of ids of the same length"),
        ("a dog", "got a str"),
        (np.array(["a dog"]), "got a ndarray. Convert tokens with"),
        (BATCHES, "got a SequenceBatches. Pass its `dataset..`"),
    ],
)
def test_what_keras_rejects_without_a_reason(classifier, x, message):
    for method in (classifier.fit, classifier.evaluate, classifier.predict):
        with pytest.raises(ValueError, match=f"`x` must be .*{message}"):
            method(x, verbose=0)


@pytest.mark.slow
def test_the_remedies_work(classifier):
    y = np.array([classifier.classes.index(name) for name in NAMES])
    assert classifier.evaluate(FEATURES, y, verbose=0, return_dict=True)["loss"] > 0
    data = tf.data.Dataset.from_tensors((FEATURES, y))
    by_batch = classifier.evaluate(data, verbose=0, return_dict=True)
    whole = classifier.evaluate(x=FEATURES, y=tf.constant(y), verbose=0, return_dict=True)
    assert by_batch == whole
    assert classifier.evaluate(BATCHES.dataset(), verbose=0, return_dict=True)["loss"] > 0
