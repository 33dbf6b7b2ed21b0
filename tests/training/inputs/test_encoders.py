"""Tests the constructor of each encoder: class, width and parts."""

import argparse

import numpy as np
import pytest

from tests import tiny_bert
from tests.tiny_run import make_pretrainer
from tfreps import models
from tfreps._src.cli.options import default_values
from tfreps._src.runs.bert_loading import EncoderAndTokenizer
from tfreps.text import PieceIndexer, TokenIndexer, WordVectors
from tfreps.training.inputs.encoders import BUILDERS, make_encoder, make_linear
from tfreps.training.inputs.read_inputs import EncoderInputs
from tfreps.training.options.encoder_options import CLASSIFIER, ENCODERS, encoder_table

SENTENCES = [["a", "dog", "sat"], ["a", "cat"]]  # 4 words, 3 special tokens
DEFAULTS = default_values(encoder_table(CLASSIFIER))


def options(**given):
    sizes = {"units": 8, "hidden_dim": 8, "embedding_dim": 5, "dropout": 0.5}
    return argparse.Namespace(**{**DEFAULTS, **sizes, **given})


def indexer(max_characters=None):
    return TokenIndexer.from_sentences(SENTENCES, max_characters=max_characters)


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "given, kind, width",
    [
        ({"encoder": "embeddings"}, models.TokenEmbedder, 5),
        ({"encoder": "bilstm", "num_layers": 2}, models.BiLSTMEncoder, 16),
        ({"encoder": "bigru", "num_layers": 2}, models.BiGRUEncoder, 16),
        ({"encoder": "slstm", "num_steps": 2}, models.SLSTMEncoder, 8),
        ({"encoder": "transformer", "num_heads": 2}, models.TransformerEncoder, 8),
        ({"encoder": "cnn", "num_filters": 3, "widths": [1, 2]}, models.TextCNN, 6),
        ({"encoder": "linear"}, models.LinearEncoder, 4),
    ],
)
def test_each_encoder_has_the_width_that_was_asked_for(given, kind, width):
    tokens = indexer()
    encoder = make_encoder(options(**given), EncoderInputs(tokens, 4))
    out = encoder(tokens([["a", "dog", "flew"]]))
    assert type(encoder) is kind and encoder.output_dim == width
    assert out["sequence_output"].shape == (1, 3, width)


def test_options_arrive():
    given = {"encoder": "bilstm", "num_layers": 3, "dropout": 0.25}
    encoder = make_encoder(options(**given), EncoderInputs(indexer()))
    assert encoder.num_layers == 3 and encoder.dropout == encoder.embedder.dropout == 0.25
    given = {"num_steps": 4, "window": 2, "num_sentence_nodes": 3, "boundary": "zeros"}
    encoder = make_encoder(options(encoder="slstm", **given), EncoderInputs(indexer()))
    assert {name: getattr(encoder, name) for name in given} == given
    given = {"num_layers": 3, "num_heads": 2}
    encoder = make_encoder(options(encoder="transformer", **given), EncoderInputs(indexer()))
    assert {name: getattr(encoder, name) for name in given} == given


def test_heads_that_do_not_divide_the_width():
    with pytest.raises(ValueError, match="divide `hidden_dim`; got 3 heads for 8"):
        make_encoder(options(encoder="transformer", num_heads=3), EncoderInputs(indexer()))


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_characters_are_as_many_as_the_features_have(kind):
    tokens = indexer(max_characters=12)
    encoder = make_encoder(options(encoder="embeddings", characters=kind), EncoderInputs(tokens))
    words = make_encoder(options(encoder="embeddings"), EncoderInputs(indexer()))
    assert encoder.max_characters == 12 and encoder.output_dim > words.output_dim
    out = encoder(tokens([["a", "supercalifragilistic"]]))["sequence_output"]
    assert out.shape == (1, 2, encoder.output_dim)


def test_word_vectors_are_the_first_weights_and_may_be_frozen():
    matrix = np.arange(7 * 3, dtype="float32").reshape(7, 3)
    vectors = WordVectors(matrix, np.ones(7, bool))
    for frozen in (False, True):
        encoder = make_encoder(
            options(trainable_embeddings=not frozen), EncoderInputs(indexer(), vectors=vectors)
        )
        table = encoder.embedder.word_embeddings
        np.testing.assert_array_equal(table[1:], matrix)
        assert table.trainable is not frozen and encoder.embedder.embedding_dim == 3


def test_words_of_the_file_of_vectors_have_a_frozen_table():
    matrix = np.arange(7 * 3, dtype="float32").reshape(7, 3)
    vectors = WordVectors(matrix, np.ones(7, bool))
    read = EncoderInputs(indexer(), vectors=vectors, num_frozen_words=2)
    embedder = make_encoder(options(), read).embedder
    np.testing.assert_array_equal(embedder.word_embeddings[1:], matrix[:5])
    np.testing.assert_array_equal(embedder.frozen_word_embeddings[1:], matrix[5:])
    assert embedder.word_embeddings.trainable and not embedder.frozen_word_embeddings.trainable


def test_without_words_elmo_or_stored_vectors_are_read():
    bilm = make_pretrainer().bilm
    elmo = models.Elmo(bilm, dropout=0.0)
    given = options(encoder="embeddings", no_words=True)
    encoder = make_encoder(given, EncoderInputs(indexer(max_characters=50), elmo=elmo))
    assert encoder.output_dim == 2 * bilm.projection_dim and encoder.vocabulary_size is None
    stored = make_encoder(given, EncoderInputs(indexer(), stored=(3, 7)))
    assert (stored.vector_layers, stored.vector_dim, stored.output_dim) == (3, 7, 7)
    with pytest.raises(ValueError, match="needs at least one of"):
        make_encoder(given, EncoderInputs(indexer()))


def test_a_bert_reads_pieces_or_the_pieces_of_words():
    tokenizer = tiny_bert.pieces("dog", "sat")
    bert = EncoderAndTokenizer(tiny_bert.make_encoder(tokenizer), tokenizer)
    given = options(encoder="bert")
    assert make_encoder(given, EncoderInputs(PieceIndexer(tokenizer), bert=bert)) is bert.encoder
    words = PieceIndexer(tokenizer, words=True)
    encoder = make_encoder(given, EncoderInputs(words, bert=bert))
    assert isinstance(encoder, models.PieceEncoder) and encoder.encoder is bert.encoder
    assert (encoder.start_id, encoder.separator_id, encoder.output_dim) == (2, 3, 16)
    assert encoder(words([["dog", "sat"]]))["sequence_output"].shape == (1, 2, 16)


def test_every_encoder_has_a_row_and_a_function():
    assert list(ENCODERS) == list(BUILDERS)


def inputs():
    return EncoderInputs(indexer(), 4)


def test_a_linear_model_beside_the_encoder_only_when_asked_for():
    assert make_linear(options(), inputs()) is None
    linear = make_linear(options(linear_features=True), inputs())
    assert (linear.units, linear.vocabulary_size, linear.dropout) == (4, 7, 0.0)
    for given in ({"linear_features": True}, {"ngrams": 2}):
        given = options(linear_dropout=0.5, **given)
        assert make_linear(given, inputs()).dropout == 0.5
    given = options(encoder="linear", linear_dropout=0.5)
    assert make_encoder(given, inputs()).dropout == 0.5


@pytest.mark.parametrize("ngrams, tables", [(1, 1), (2, 2), (3, 3)])
def test_ngrams_are_those_of_the_text_each_once(ngrams, tables):
    linear = make_linear(options(ngrams=ngrams), inputs())
    every = linear.unigram_offsets, linear.bigram_offsets, linear.trigram_offsets
    assert every == ((0,),) * ngrams + ((),) * (3 - ngrams) and len(linear.weights) == tables
