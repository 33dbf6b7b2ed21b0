"""Attention, its tokens and position vectors equal those of the model."""

import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.closeness import assert_close
from tfreps._src.inference.attention import piece_attention, position_table, transformer_of
from tfreps._src.layers.position_embedding import sinusoids
from tfreps.inference import TextClassifier, TextTagger
from tfreps.models import (
    BertEncoder,
    BertPretrainer,
    Classifier,
    PieceEncoder,
    Tagger,
    TokenEmbedder,
    TransformerEncoder,
)
from tfreps.text import PieceIndexer


def attention_of(encoder, ids, segments=None):
    features = {"token_ids": tf.constant([ids])}
    if segments is not None:
        features["segment_ids"] = tf.constant([segments])
    return encoder.attention(features)[0].numpy()


def test_two_texts():
    tokenizer = tiny_bert.characters("房间很大 big")
    encoder = tiny_bert.make_encoder(tokenizer)
    read = piece_attention(encoder, tokenizer, "很大！", "BIG 3")
    assert read.tokens == ["#CLS#", "很", "大", "！", "#SEP#", "big", "#NUM#", "#SEP#"]
    ids = [2, *tokenizer.text_to_ids("很大"), 1, 3, *tokenizer.text_to_ids("big"), 5, 3]
    expected = attention_of(encoder, ids, [0] * 5 + [1] * 3)
    assert_close(read.probabilities, expected)
    assert read.probabilities.shape == (2, 2, 8, 8)
    assert_close(read.probabilities.sum(-1), 1.0)


def test_pieces_that_there_are_not():
    tokenizer = tiny_bert.pieces("the", "river", "bank")
    encoder = tiny_bert.make_encoder(tokenizer)
    read = piece_attention(encoder, tokenizer, "The river-bank")
    assert read.tokens == ["[CLS]", "the", "rive", "##r", "[UNK]", "bank", "[SEP]"]
    ids = [tokenizer.vocabulary.index(token) for token in read.tokens]
    assert_close(read.probabilities, attention_of(encoder, ids))


def test_a_classifier_with_bert():
    tokenizer = tiny_bert.characters("房间很大")
    encoder = tiny_bert.make_encoder(tokenizer)
    classifier = TextClassifier(Classifier(encoder, ["a", "b"]), PieceIndexer(tokenizer), "bert")
    read = classifier.attention("房间")
    assert read.tokens == ["#CLS#", "房", "间", "#SEP#"]
    expected = attention_of(encoder, [2, *tokenizer.text_to_ids("房间"), 3])
    assert_close(read.probabilities, expected)
    classifier.max_length = 4
    assert classifier.attention("房间很大").tokens == read.tokens  # truncated as in `classify`


def test_a_tagger_with_bert_cuts_words_first():
    tokenizer = tiny_bert.pieces("the", "river", "bank")
    encoder = tiny_bert.make_encoder(tokenizer)
    words = PieceEncoder(encoder, tokenizer.start_id, tokenizer.separator_id)
    model = Tagger(words, ["O", "B-X", "I-X"], "bio")
    tagger = TextTagger(model, PieceIndexer(tokenizer, words=True), max_length=24)
    assert tagger.attention("the river").tokens == ["[CLS]", "the", "rive", "##r", "[SEP]"]
    # A word without pieces is read as the unknown piece, as in tagging.
    assert tagger.attention("the \u200b").tokens == ["[CLS]", "the", "[UNK]", "[SEP]"]
    ids = tokenizer.text_to_ids("the river") + [1, tokenizer.vocabulary.index("bank")]
    read = tagger.attention("the river \u200b bank")
    assert_close(read.probabilities, attention_of(encoder, [2, *ids, 3]))
    with pytest.raises(ValueError, match="at most 22 pieces"):
        tagger.attention("the " * 23)
    with pytest.raises(ValueError, match="one text at a time"):
        tagger.attention("the", "bank")
    with pytest.raises(ValueError, match="`text` must contain at least one token"):
        tagger.attention(" ")


def test_the_transformer_inside():
    encoder = tiny_bert.make_encoder(tiny_bert.pieces("the"))
    for model in encoder, BertPretrainer(encoder), Classifier(encoder, ["a", "b"]):
        assert transformer_of(model) is encoder
    words = Tagger(TokenEmbedder(vocabulary_size=9), ["A"])
    with pytest.raises(ValueError, match="runs/x contains a Tagger with TokenEmbedder, which"):
        transformer_of(words, "runs/x")


def test_positions():
    encoder = tiny_bert.make_encoder(tiny_bert.pieces("the"))
    np.testing.assert_array_equal(position_table(encoder), encoder.add_positions.table)
    assert position_table(encoder, 3).shape == (3, 16)
    with pytest.raises(ValueError, match="`length` must be at most 24, .*; got 25"):
        position_table(encoder, 25)
    sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2}
    waves = BertEncoder(9, positions="sinusoidal_full_index", normalize_positions=True, **sizes)
    expected = sinusoids(100, 8, "sinusoidal_full_index", normalize_positions=True)
    np.testing.assert_array_equal(position_table(waves), expected)
    none = TransformerEncoder(TokenEmbedder(vocabulary_size=9), positions=None, **sizes)
    with pytest.raises(ValueError, match="no position vectors"):
        position_table(none)
