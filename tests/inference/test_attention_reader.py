"""AttentionReader: the tokens are those that the model reads, the attention is its own."""

import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tfreps.inference.attention_reader import (
    AttentionReader,
    open_encoder,
    position_table,
    transformer_of,
)
from tfreps.layers.position_embedding import sinusoids
from tfreps.models import (
    BertEncoder,
    Classifier,
    PieceEncoder,
    Tagger,
    TextCNN,
    TokenEmbedder,
    TransformerEncoder,
)
from tfreps.runs.run_folder import RunFolder
from tfreps.text import Vocabulary
from tfreps.text.bert import write_tokenizer


def write_text_run(path, program, model, tokenizer=None, vocabulary=None, **options):
    run = RunFolder.create(path, program, options)
    run.save_model(model)
    if tokenizer is not None:
        write_tokenizer(tokenizer, run.tokenizer_path)
    if vocabulary is not None:
        vocabulary.write(run.vocabulary_path)
    return path


def attention_of(encoder, ids, segments=None):
    features = {"token_ids": tf.constant([ids])}
    if segments is not None:
        features["segment_ids"] = tf.constant([segments])
    return encoder.attention(features)[0].numpy()


def test_a_run_of_pretraining_reads_two_texts(tmp_path):
    tokenizer = tiny_bert.characters("房间很大 big")
    path, encoder = tiny_bert.write_run(tmp_path / "run", tokenizer)
    read = AttentionReader.open(path).read("很大！", "BIG 3")
    assert read.tokens == ["#CLS#", "很", "大", "！", "#SEP#", "big", "#NUM#", "#SEP#"]
    ids = [2, *tokenizer.ids("很大"), 1, 3, *tokenizer.ids("big"), 5, 3]
    expected = attention_of(encoder, ids, [0] * 5 + [1] * 3)
    np.testing.assert_allclose(read.probabilities, expected, atol=1e-6)
    assert read.probabilities.shape == (2, 2, 8, 8)
    np.testing.assert_allclose(read.probabilities.sum(-1), 1.0, atol=1e-5)


def test_a_published_checkpoint(tmp_path):
    tokenizer = tiny_bert.pieces("the", "river", "bank")
    path, encoder = tiny_bert.write_checkpoint(tmp_path / "bert", tokenizer)
    read = AttentionReader.open(path).read("The river-bank")
    assert read.tokens == ["[CLS]", "the", "rive", "##r", "[UNK]", "bank", "[SEP]"]
    ids = [tokenizer.vocabulary.index(token) for token in read.tokens]
    np.testing.assert_allclose(read.probabilities, attention_of(encoder, ids), atol=1e-5)


def test_a_classifier_with_bert(tmp_path):
    tokenizer = tiny_bert.characters("房间很大")
    encoder = tiny_bert.make_encoder(tokenizer)
    model = Classifier(encoder, ["a", "b"])
    path = write_text_run(tmp_path / "run", "train-classifier", model, tokenizer)
    read = AttentionReader.open(path).read("房间")
    assert read.tokens == ["#CLS#", "房", "间", "#SEP#"]
    expected = attention_of(encoder, [2, *tokenizer.ids("房间"), 3])
    np.testing.assert_allclose(read.probabilities, expected, atol=1e-6)


def test_a_tagger_with_bert_cuts_words_first(tmp_path):
    tokenizer = tiny_bert.pieces("the", "river", "bank")
    encoder = tiny_bert.make_encoder(tokenizer)
    ends = tokenizer.start_id, tokenizer.separator_id
    model = Tagger(PieceEncoder(encoder, *ends), ["O", "B-X", "I-X"], "bio")
    options = {"tokens": "spaces"}
    path = write_text_run(tmp_path / "run", "train-tagger", model, tokenizer, **options)
    reader = AttentionReader.open(path)
    read = reader.read("the river bank")
    assert read.tokens == ["[CLS]", "the", "rive", "##r", "bank", "[SEP]"]
    assert reader.read("the \u200b").tokens == ["[CLS]", "the", "[UNK]", "[SEP]"]  # as it is tagged
    ids = tokenizer.ids("the river") + [1, tokenizer.vocabulary.index("bank")]
    read = reader.read("the river \u200b bank")
    np.testing.assert_allclose(read.probabilities, attention_of(encoder, [2, *ids, 3]), atol=1e-6)
    with pytest.raises(ValueError, match="expected at most 22 pieces"):
        reader.read("the " * 23)
    with pytest.raises(ValueError, match="one text at a time"):
        reader.read("the", "bank")


def test_a_classifier_with_a_transformer(tmp_path):
    vocabulary = Vocabulary("<S> </S> <UNK> the river bank".split())
    embedder = TokenEmbedder(vocabulary_size=len(vocabulary))
    encoder = TransformerEncoder(embedder, hidden_dim=8, num_layers=3, num_heads=2)
    model = Classifier(encoder, ["a", "b"])
    path = write_text_run(
        tmp_path / "run", "train-classifier", model, None, vocabulary, tokens="spaces"
    )
    reader = AttentionReader.open(path)
    read = reader.read("the river flows")
    assert read.tokens == ["the", "river", "flows"] and read.probabilities.shape == (3, 2, 3, 3)
    ids = reader.text_model.features(tf.constant([read.tokens]))["token_ids"][0].numpy()
    np.testing.assert_allclose(read.probabilities, attention_of(encoder, ids), atol=1e-6)
    with pytest.raises(ValueError, match="one text at a time"):
        reader.read("the", "bank")
    with pytest.raises(ValueError, match="no token in the text ' '"):
        reader.read(" ")


def test_texts_that_cannot_be_read(tmp_path):
    path, _ = tiny_bert.write_run(tmp_path / "run", tiny_bert.characters("房间"))
    reader = AttentionReader.open(path)
    for texts in ("",), ("房", " "):
        with pytest.raises(ValueError, match="no token in the text"):
            reader.read(*texts)
    with pytest.raises(ValueError, match="23 pieces, and there is room for 22"):
        reader.read("房" * 23)


def test_models_without_attention(tmp_path):
    model = Classifier(TextCNN(TokenEmbedder(vocabulary_size=4), num_filters=4, widths=[2]), ["a"])
    path = write_text_run(
        tmp_path / "run",
        "train-classifier",
        model,
        None,
        Vocabulary([*"<S> </S> <UNK>".split(), "a"]),
    )
    with pytest.raises(ValueError, match="run holds a Classifier with TextCNN, which has no att"):
        AttentionReader.open(path)
    with pytest.raises(ValueError, match="nowhere does not exist"):
        AttentionReader.open(tmp_path / "nowhere")
    with pytest.raises(ValueError):
        AttentionReader.open(tmp_path)
    with pytest.raises(ValueError, match="Sequential"):
        transformer_of(__import__("keras").Sequential())


def test_positions(tmp_path):
    path, encoder = tiny_bert.write_checkpoint(tmp_path / "bert", tiny_bert.pieces("the"))
    table = position_table(open_encoder(path))
    np.testing.assert_allclose(table, encoder.add_positions.table, atol=1e-7)
    assert position_table(encoder, 3).shape == (3, 16)
    with pytest.raises(ValueError, match="learned 24 positions; got 25"):
        position_table(encoder, 25)
    sizes = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2}
    waves = BertEncoder(9, positions="sinusoidal_full_index", normalize_positions=True, **sizes)
    expected = sinusoids(100, 8, "sinusoidal_full_index", normalize_positions=True)
    np.testing.assert_array_equal(position_table(waves), expected)
    none = TransformerEncoder(TokenEmbedder(vocabulary_size=9), positions=None, **sizes)
    with pytest.raises(ValueError, match="no positions"):
        position_table(none)
