"""Shared behavior of TextTagger and TextClassifier."""

import pytest
import tensorflow as tf

from tests import known_models
from tests.closeness import assert_close
from tests.known_models import TEXTS
from tfreps.inference import TextClassifier, TextTagger
from tfreps.models import Classifier, Tagger, TextCNN, TokenEmbedder, TransformerEncoder
from tfreps.text import TokenIndexer

INDEXER = TokenIndexer(known_models.VOCABULARY)


def make_classifier(encoder):
    return TextClassifier(Classifier(encoder, ["bad", "good"]), INDEXER, "words")


def test_raw_text_is_cut_as_in_training():
    embedder = known_models.embedder(TEXTS, 2)
    tagger = TextTagger(Tagger(embedder, ["A", "B"]), INDEXER)
    assert tagger.tokenize(["Ada's  dog.", ""]) == [["Ada's", "dog."], []]
    assert make_classifier(embedder).tokenize(["Ada's dog."]) == [["Ada", "'", "s", "dog", "."]]
    assert tagger.tokenizer is None and tagger.source is None


def test_stored_vectors_are_neither_forgotten_nor_given_in_vain():
    words = make_classifier(known_models.embedder(TEXTS, 2))
    with pytest.raises(ValueError, match="reads no stored vectors; got a.hdf5"):
        words.classify([["Ada"]], vectors="a.hdf5")
    stored = TextTagger(Tagger(TokenEmbedder(vector_layers=2, vector_dim=3), ["A"]), INDEXER)
    assert stored.model._reads_vectors and not words.model._reads_vectors
    with pytest.raises(ValueError, match="`vectors` is missing: .*`tfreps evaluate` with the vec"):
        stored.tag([["Ada"]])


def test_attention_of_tokens():
    embedder = TokenEmbedder(vocabulary_size=INDEXER.vocabulary_size)
    encoder = TransformerEncoder(embedder, hidden_dim=8, num_layers=3, num_heads=2)
    model = make_classifier(encoder)
    found = model.attention("Ada saw Max")
    assert found.tokens == ["Ada", "saw", "Max"] and found.probabilities.shape == (3, 2, 3, 3)
    ids = INDEXER(tf.constant([found.tokens]))["token_ids"]
    expected = encoder.attention({"token_ids": ids})[0]
    assert_close(found.probabilities, expected)
    model.max_length = 3
    assert model.attention("Ada saw Max Ada").tokens == found.tokens  # truncated as in `classify`
    with pytest.raises(ValueError, match="one text at a time"):
        model.attention("Ada", "Rome")
    with pytest.raises(ValueError, match="`text` must contain at least one token; got ' '"):
        model.attention(" ")


def test_models_without_attention():
    encoder = TextCNN(TokenEmbedder(vocabulary_size=9), num_filters=4, widths=[2])
    with pytest.raises(ValueError, match="with TextCNN with TokenEmbedder, which has no"):
        make_classifier(encoder).attention("Ada")
