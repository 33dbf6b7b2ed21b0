"""Exports of a BERT without a head return the outputs of the encoder."""

import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.closeness import assert_close
from tfreps._src.export.bert_signatures import BertSignatures
from tfreps.export import write_export
from tfreps.inference import TextBert
from tfreps.models import BertPretrainer
from tfreps.text import JsonTokenizer

TEXTS = ["the dog 房间", "", "dog " * 40]


@pytest.mark.slow
@pytest.mark.parametrize("pooler", [True, False])
def test_every_signature(tmp_path, pooler):
    tokenizer = tiny_bert.pieces("the", "dog", "房")
    encoder = tiny_bert.make_encoder(tokenizer, pooler=pooler, num_layers=1 if pooler else 2)
    model = BertPretrainer(encoder) if pooler else encoder
    signatures = BertSignatures(TextBert(model, tokenizer), explain=pooler)
    names = list(write_export(signatures, tmp_path).functions)
    assert names == [
        "default",
        "serving_default",
        "tokens",
        "vectors",
        *["explain"][:pooler],
    ]
    signatures = tf.saved_model.load(str(tmp_path / "1")).signatures
    found = signatures["default"](text=tf.constant(TEXTS))
    rows = [
        [2, *[tokenizer.vocabulary.index(piece) for piece in tokenizer.tokenize(text)][:22], 3]
        for text in TEXTS
    ]
    assert found["sequence_len"].numpy().tolist() == [len(row) for row in rows] == [6, 2, 24]
    for row, ids in enumerate(rows):
        out = encoder(tf.constant([ids]))
        n, vectors = len(ids), out["sequence_output"][0]
        pieces = [piece.decode() for piece in found["tokens"].numpy()[row]]
        assert pieces == [tokenizer.vocabulary[i] for i in ids] + [""] * (24 - n)
        # Each term passes through up to two blocks.
        assert_close(found["sequence_output"][row, :n], vectors, terms=256)
        assert not found["sequence_output"].numpy()[row, n:].any()
        assert_close(found["default"][row], np.mean(vectors, axis=0), terms=256)
        if pooler:
            assert_close(found["pooled_output"][row], out["pooled_output"][0], terms=256)
            explained = signatures["explain"](text=tf.constant(TEXTS[row : row + 1]))
            attention = encoder.attention({"token_ids": tf.constant([ids])})
            assert_close(explained["attention"], attention, terms=256)
            np.testing.assert_array_equal(explained["attention_tokens"], explained["tokens"])
    assert ("pooled_output" in found) == pooler
    small = signatures["vectors"](text=tf.constant(TEXTS))
    assert set(small) == {"vectors", "sequence_len"}
    np.testing.assert_array_equal(small["vectors"], found["default"])
    np.testing.assert_array_equal(small["sequence_len"], found["sequence_len"])
    words = {"tokens": tf.constant([["the", "dog", "房间", "x"]])}
    again = signatures["tokens"](**words, sequence_len=tf.constant([3]))
    assert_close(again["default"][0], found["default"][0], terms=256)
    with pytest.raises(tf.errors.InvalidArgumentError, match="one value per row"):
        signatures["tokens"](**words, sequence_len=tf.constant([5]))


@pytest.mark.slow
def test_with_an_operation_of_tensorflow_text(tmp_path):
    pytest.importorskip("tensorflow_text")
    tokenizer = tiny_bert.pieces("the", "dog", "房")
    encoder = tiny_bert.make_encoder(tokenizer)
    predictions = []
    for core_ops in True, False:
        signatures = BertSignatures(TextBert(encoder, tokenizer), core_ops=core_ops)
        folder = write_export(signatures, tmp_path).folder
        saved = (folder / "saved_model.pb").read_bytes()
        assert (b"FastWordpiece" in saved) != core_ops
        loaded = tf.saved_model.load(str(folder)).signatures["default"]
        predictions.append(loaded(text=tf.constant(TEXTS)))
    for name, expected in predictions[0].items():
        np.testing.assert_array_equal(predictions[1][name], expected)


def test_the_cost_of_long_texts():
    """Without learned positions, texts are not truncated, so attention dominates the cost."""
    tokenizer = tiny_bert.pieces("the", "dog")
    for options, attends in ({}, False), ({"positions": "sinusoidal"}, True):
        encoder = tiny_bert.make_encoder(tokenizer, **options)
        assert BertSignatures(TextBert(encoder, tokenizer)).text_counts["attends"] == attends


def test_a_tokenizer_that_only_python_applies():
    own = tiny_bert.pieces("the", "a-b")
    ids = {piece: number for number, piece in enumerate(own.vocabulary)}
    definition = {
        "model": {"type": "WordLevel", "vocab": ids, "unk_token": "[UNK]"},
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]},
    }
    bert = TextBert(tiny_bert.make_encoder(own), JsonTokenizer(definition))
    [vectors] = bert.encode(["a-b the"])
    assert vectors.tokens == ["[CLS]", "a-b", "the", "[SEP]"]
    with pytest.raises(ValueError, match="tokenizer.json describes .* cannot be exported.*'model'"):
        BertSignatures(bert)
