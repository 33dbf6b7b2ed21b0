"""TextBert returns the vectors and the attention of the model."""

import keras
import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.closeness import assert_close
from tfreps.inference import TextBert
from tfreps.models import BertEncoder, BertPretrainer

TOKENIZER = tiny_bert.pieces("the", "river", "bank")


@pytest.fixture(scope="module")
def bert():
    return TextBert(tiny_bert.make_encoder(TOKENIZER), TOKENIZER)


@pytest.mark.slow
def test_vectors_of_raw_texts(bert):
    long, short = bert(["The river " * 30, "bank"])
    assert short.tokens == ["[CLS]", "bank", "[SEP]"]
    assert len(long.tokens) == bert.max_length == 24 and long.tokens[-1] == "[SEP]"
    for found in long, short:
        ids = [TOKENIZER.vocabulary.index(token) for token in found.tokens]
        out = bert.model({"token_ids": tf.constant([ids])})
        # The number of terms added in two blocks, in batches of different lengths.
        assert_close(found.vectors, out["sequence_output"][0], terms=256)
        assert_close(found.pooled, out["pooled_output"][0], terms=256)
    alone = bert("bank")
    assert_close(alone.vectors, short.vectors, terms=256)
    assert bert([]) == []


def test_a_pretrainer_is_asked_through_its_encoder():
    encoder = tiny_bert.make_encoder(TOKENIZER, pooler=False)
    bert = TextBert(BertPretrainer(encoder, next_sentence=False), TOKENIZER)
    assert bert.encoder is encoder and bert("bank").pooled is None
    assert bert.transformer is encoder


def test_attention_of_two_texts(bert):
    found = bert.attention("the bank", "river")
    assert found.tokens == ["[CLS]", "the", "bank", "[SEP]", "rive", "##r", "[SEP]"]
    ids = [TOKENIZER.vocabulary.index(token) for token in found.tokens]
    features = {"token_ids": tf.constant([ids]), "segment_ids": tf.constant([[0] * 4 + [1] * 3])}
    assert_close(found.probabilities, bert.model.attention(features)[0])
    for texts in ("",), ("the", " "):
        with pytest.raises(ValueError, match="must contain at least one token"):
            bert.attention(*texts)
    with pytest.raises(ValueError, match="23 pieces, but at most 22 fit"):
        bert.attention("the " * 23)


def test_without_a_tokenizer(bert):
    silent = TextBert(bert.model, source="published/bert")
    assert silent.max_length is None
    for ask in silent, silent.attention:
        with pytest.raises(ValueError, match="published/bert has no vocabulary"):
            ask("the")
    with pytest.raises(ValueError, match="must be a BertEncoder or BertPretrainer; got a Seq"):
        TextBert(keras.Sequential())


def test_one_trace_serves_all_shapes(monkeypatch):
    traced = []
    step = BertEncoder.predict_step
    monkeypatch.setattr(
        BertEncoder, "predict_step", lambda model, data: traced.append(1) or step(model, data)
    )
    bert = TextBert(tiny_bert.make_encoder(TOKENIZER), TOKENIZER)
    for texts in ["bank"], ["the river bank"], ["the", "river"], ["the"] * 33, []:
        assert len(bert(texts)) == len(texts)
    assert len(traced) == 1
