"""Tests that a word's vector is that of its first piece, as if pieces were joined by hand."""

import numpy as np
import pytest
import tensorflow as tf

from tests.closeness import assert_close
from tests.tiny_bert import normal_weights
from tfreps.models import BertEncoder, PieceEncoder

WORDS = [[[5, 6], [7], [8, 6, 6]], [[7, 7]], []]
PADDING = 1


def make(**options):
    options = {
        "hidden_dim": 8,
        "num_layers": 2,
        "num_heads": 2,
        **normal_weights(0.5),
        **options,
    }
    bert = BertEncoder(9, padding_id=PADDING, **options)
    return PieceEncoder(bert, start_id=2, separator_id=3)


def padded(rows, words=4, width=3):
    ids = np.full([len(rows), words, width], PADDING)
    for row, sentence in enumerate(rows):
        for position, pieces in enumerate(sentence):
            ids[row, position, : len(pieces)] = pieces
    return {"piece_ids": tf.constant(ids), "mask": tf.constant(ids[..., 0] != PADDING)}


def test_first_pieces():
    encoder = make()
    out = encoder(padded(WORDS))
    assert out["sequence_output"].shape == (3, 4, 8)
    assert out["mask"].numpy().sum(1).tolist() == [3, 1, 0]
    for row, sentence in enumerate(WORDS):
        joined = [2, *(piece for pieces in sentence for piece in pieces), 3]
        alone = encoder.encoder({"token_ids": tf.constant([joined])})
        positions = np.cumsum([1, *(len(pieces) for pieces in sentence)])[:-1]
        expected = alone["sequence_output"].numpy()[0, positions]
        found = out["sequence_output"][row].numpy()
        # The number of terms added in the blocks of a BERT.
        assert_close(found[: len(sentence)], expected, terms=256)
        assert not found[len(sentence) :].any()
        assert_close(out["pooled_output"][row], alone["pooled_output"][0], terms=256)


def test_without_a_mask_pieces_tell():
    features = padded(WORDS)
    encoder = make(pooler=False)
    with_mask = encoder(features)
    without = encoder({"piece_ids": features["piece_ids"]})
    np.testing.assert_array_equal(with_mask["mask"], without["mask"])
    assert_close(with_mask["sequence_output"], without["sequence_output"])
    assert "pooled_output" not in without and encoder.pooled_dim is None


def test_in_a_graph_of_any_shape():
    encoder = make()
    spec = {"piece_ids": tf.TensorSpec([None, None, None], tf.int32)}
    function = tf.function(lambda features: encoder(features)["sequence_output"], [spec])
    ids = tf.cast(padded(WORDS)["piece_ids"], tf.int32)
    assert_close(function({"piece_ids": ids}), encoder({"piece_ids": ids})["sequence_output"])
    assert function({"piece_ids": tf.zeros([2, 0, 3], tf.int32)}).shape == (2, 0, 8)
    assert function({"piece_ids": tf.zeros([0, 2, 3], tf.int32)}).shape == (0, 2, 8)


def test_errors():
    with pytest.raises(ValueError, match="must have the key `piece_ids`; got .'token_ids'."):
        make()({"token_ids": tf.constant([[2]])})
    with pytest.raises(tf.errors.InvalidArgumentError):
        make(max_sequence_length=5)(padded([[[5, 6, 6], [7]]]))
