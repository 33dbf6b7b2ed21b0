"""Encoders from options: which one, how wide, what it reads."""

import argparse

import numpy as np
import pytest

from tests import tiny_bert
from tests.tiny_run import make_pretrainer
from tfreps import models
from tfreps.cli import encoder_options
from tfreps.cli.encoder_options import make_encoder
from tfreps.runs.bert_loading import EncoderAndTokenizer
from tfreps.text import TokenIndexer, WordVectors
from tfreps.text.bert.piece_indexer import PieceIndexer

SENTENCES = [["a", "dog", "sat"], ["a", "cat"]]  # 4 words, 3 special ones


def options(**given):
    defaults = {name: option.default for name, option in encoder_options.OPTIONS.items()}
    return argparse.Namespace(
        **{**defaults, "units": 8, "hidden_dim": 8, "embedding_dim": 5, **given}
    )


def indexer(max_characters=None):
    return TokenIndexer.from_sentences(SENTENCES, max_characters=max_characters)


@pytest.mark.parametrize(
    "given, kind, width",
    [
        ({"encoder": "embeddings"}, models.TokenEmbedder, 5),
        ({"encoder": "bilstm", "num_layers": 2}, models.BiLSTMEncoder, 16),
        ({"encoder": "slstm", "num_steps": 2}, models.SLSTMEncoder, 8),
        ({"encoder": "transformer", "num_heads": 2}, models.TransformerEncoder, 8),
        ({"encoder": "cnn", "num_filters": 3, "widths": [1, 2]}, models.TextCNN, 6),
        ({"encoder": "linear"}, models.LinearEncoder, 4),
    ],
)
def test_each_encoder_has_the_width_that_was_asked_for(given, kind, width):
    tokens = indexer()
    encoder = make_encoder(options(**given), tokens, units=4)
    out = encoder(tokens([["a", "dog", "flew"]]))
    assert type(encoder) is kind and encoder.output_dim == width
    assert out["sequence_output"].shape == (1, 3, width)


def test_options_arrive():
    encoder = make_encoder(options(num_layers=3, dropout=0.25), indexer())
    assert encoder.num_layers == 3 and encoder.dropout == encoder.embedder.dropout == 0.25
    given = {"num_steps": 4, "window": 2, "num_sentence_nodes": 3, "boundary": "zeros"}
    encoder = make_encoder(options(encoder="slstm", **given), indexer())
    assert {name: getattr(encoder, name) for name in given} == given
    given = {"num_layers": 3, "num_heads": 2}
    encoder = make_encoder(options(encoder="transformer", **given), indexer())
    assert {name: getattr(encoder, name) for name in given} == given


@pytest.mark.parametrize(
    "given, message",
    [
        ({"encoder": "cnn", "units": 9}, "--units goes unseen: --encoder cnn does not read it, bu"),
        (
            {"encoder": "bert", "num_filters": 5},
            "--num-filters goes unseen: --encoder bert .*, but cnn.",
        ),
        ({"encoder": "slstm", "num_layers": 2}, "--num-layers goes unseen"),
        ({"encoder": "linear", "embedding_dim": 9}, "--embedding-dim goes unseen"),
        ({"encoder": "bilstm", "widths": [2]}, "--widths goes unseen"),
    ],
)
def test_options_that_an_encoder_does_not_read(given, message):
    given = {"units": 200, "hidden_dim": 200, "embedding_dim": 100, **given}  # the defaults
    with pytest.raises(ValueError, match=message):
        encoder_options.check(options(**given))


def test_options_that_an_encoder_reads():
    defaults = {"units": 200, "hidden_dim": 200, "embedding_dim": 100}
    for encoder in encoder_options.NAMES:
        encoder_options.check(options(**{**defaults, "encoder": encoder}))
    encoder_options.check(
        options(**{**defaults, "encoder": "cnn", "num_filters": 9, "widths": [2]})
    )
    encoder_options.check(options(**{**defaults, "encoder": "bert", "num_layers": 2}))
    assert set(encoder_options.READERS) < set(encoder_options.OPTIONS)
    assert {name for names in encoder_options.READERS.values() for name in names} == set(
        encoder_options.NAMES
    ) - {"linear"}


def test_heads_that_do_not_divide_the_width():
    with pytest.raises(ValueError, match="divide `hidden_dim`; got 3 heads for 8"):
        make_encoder(options(encoder="transformer", num_heads=3), indexer())


@pytest.mark.parametrize("kind", ["cnn", "bilstm"])
def test_characters_are_as_many_as_the_features_have(kind):
    tokens = indexer(max_characters=12)
    encoder = make_encoder(options(encoder="embeddings", characters=kind), tokens)
    words = make_encoder(options(encoder="embeddings"), indexer())
    assert encoder.max_characters == 12 and encoder.output_dim > words.output_dim
    out = encoder(tokens([["a", "supercalifragilistic"]]))["sequence_output"]
    assert out.shape == (1, 2, encoder.output_dim)


def test_word_vectors_are_the_first_weights_and_may_be_frozen():
    matrix = np.arange(7 * 3, dtype="float32").reshape(7, 3)
    vectors = WordVectors(matrix, np.ones(7, bool))
    for frozen in (False, True):
        encoder = make_encoder(options(frozen_embeddings=frozen), indexer(), vectors)
        table = encoder.embedder.word_embeddings
        np.testing.assert_array_equal(table[1:], matrix)
        assert table.trainable is not frozen and encoder.embedder.embedding_dim == 3


def test_without_words_elmo_or_stored_vectors_are_read():
    bilm = make_pretrainer().bilm
    elmo = models.Elmo(bilm, dropout=0.0)
    given = options(encoder="embeddings", no_words=True)
    encoder = make_encoder(given, indexer(max_characters=50), elmo=elmo)
    assert encoder.output_dim == 2 * bilm.projection_dim and encoder.vocabulary_size is None
    stored = make_encoder(given, indexer(), stored=(3, 7))
    assert (stored.vector_layers, stored.vector_dim, stored.output_dim) == (3, 7, 7)
    with pytest.raises(ValueError, match="one part at least"):
        make_encoder(given, indexer())


def test_taggers_are_not_offered_a_cnn():
    offered = encoder_options.OPTIONS_OF_TAGGERS
    assert set(encoder_options.OPTIONS) - set(offered) == {"num_filters", "widths", "ngrams"}
    names = ["embeddings", "bilstm", "slstm", "transformer", "linear", "bert"]
    assert offered["encoder"].choices == names


def test_a_linear_model_beside_the_encoder_only_when_asked_for():
    assert encoder_options.make_linear(options(), indexer(), 4) is None
    linear = encoder_options.make_linear(options(linear_features=True), indexer(), 4)
    assert (linear.units, linear.vocabulary_size, linear.dropout) == (4, 7, 0.0)
    for given in ({"linear_features": True}, {"ngrams": 2}):
        given = options(linear_dropout=0.5, **given)
        assert encoder_options.make_linear(given, indexer(), 4).dropout == 0.5
    given = options(encoder="linear", linear_dropout=0.5)
    assert make_encoder(given, indexer(), units=4).dropout == 0.5
    with pytest.raises(ValueError, match="--encoder linear and --linear-features are linear"):
        encoder_options.make_linear(options(linear_features=True, encoder="linear"), indexer(), 4)


@pytest.mark.parametrize("ngrams, tables", [(1, 1), (2, 2), (3, 3)])
def test_ngrams_are_those_of_the_text_each_once(ngrams, tables):
    linear = encoder_options.make_linear(options(ngrams=ngrams), indexer(), 4)
    every = linear.unigram_offsets, linear.bigram_offsets, linear.trigram_offsets
    assert every == ((0,),) * ngrams + ((),) * (3 - ngrams) and len(linear.weights) == tables
    for more in ({"linear_features": True}, {"encoder": "linear"}):
        with pytest.raises(ValueError, match="and --ngrams are linear models of the same"):
            encoder_options.make_linear(options(ngrams=ngrams, **more), indexer(), 4)


def test_a_bert_reads_pieces_or_the_pieces_of_words():
    tokenizer = tiny_bert.pieces("dog", "sat")
    bert = EncoderAndTokenizer(tiny_bert.make_encoder(tokenizer), tokenizer)
    given = options(encoder="bert")
    assert make_encoder(given, PieceIndexer(tokenizer), bert=bert) is bert.encoder
    words = PieceIndexer(tokenizer, words=True)
    encoder = make_encoder(given, words, bert=bert)
    assert isinstance(encoder, models.PieceEncoder) and encoder.encoder is bert.encoder
    assert (encoder.start_id, encoder.separator_id, encoder.output_dim) == (2, 3, 16)
    assert encoder(words([["dog", "sat"]]))["sequence_output"].shape == (1, 2, 16)


def test_an_unknown_encoder():
    with pytest.raises(ValueError, match="`encoder` must be one of embeddings, bilstm"):
        make_encoder(options(encoder="lstm"), indexer())
