"""Shared parts of exports of text models: signatures, assets and truncated tokens."""

import gc
import pathlib

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.export.tiny_signatures import TinySignatures
from tfreps._src.export.signature_base import Signatures, asset_folder, cut_tokens, with_vocabulary
from tfreps._src.export.stored_weights import StoredWeights
from tfreps.export import write_export
from tfreps.text import TokenIndexer, Vocabulary

ROWS = tf.constant([["a", "b", "c"], ["d", "e", ""]])


class Lengths(Signatures):
    """Signatures that return a weight times the number of bytes."""

    def __init__(self, explains=False):
        layer = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")
        layer.build((None, 1))
        self.model = keras.Sequential([layer])
        self.text_counts = TinySignatures.text_counts
        super().__init__(tf.Module(), StoredWeights([self.model]), "lengths", explains)

    def from_text(self, text):
        return {"nll": 3.0 * self.model(tf.cast(tf.strings.length(text), "float32")[:, None])[:, 0]}

    def from_tokens(self, tokens, sequence_len):
        tokens, _ = cut_tokens(tokens, sequence_len, None)
        return self.from_text(tf.strings.reduce_join(tokens, axis=1))

    explain_text = from_text


@pytest.mark.few(1)
@pytest.mark.parametrize("explains, more", [(True, ["explain"]), (False, [])])
def test_the_signatures_by_name(tmp_path, explains, more):
    written = write_export(Lengths(explains), tmp_path)
    assert list(written.functions) == ["default", "serving_default", "tokens", *more]
    loaded = tf.saved_model.load(str(tmp_path / "1")).signatures
    for name in ("default", "serving_default", *more):
        outputs = loaded[name](text=tf.constant(["ab", ""]))["nll"]
        np.testing.assert_array_equal(outputs, [6.0, 0.0])
    outputs = loaded["tokens"](tokens=ROWS, sequence_len=tf.constant([3, 1]))["nll"]
    np.testing.assert_array_equal(outputs, [9.0, 3.0])  # tokens after the length are ignored


def test_the_folder_of_assets_goes_with_its_owner():
    owner = Lengths()
    folder = pathlib.Path(asset_folder(owner))
    (folder / "vocabulary.txt").write_text("a")
    del owner
    gc.collect()
    assert not folder.exists()


def test_cut_tokens():
    tokens, lengths = cut_tokens(ROWS, tf.constant([3, 1]), 2)
    assert tokens.numpy().tolist() == [[b"a", b"b"], [b"d", b""]]
    assert lengths.numpy().tolist() == [2, 1]
    tokens, lengths = cut_tokens(ROWS[:, :0], tf.constant([0, 0]), None)
    assert tokens.shape == (2, 0) and lengths.numpy().tolist() == [0, 0]


@pytest.mark.parametrize("lengths", [[4, 0], [-1, 0], [1], [1, 1, 1]])
def test_lengths_that_do_not_fit(lengths):
    with pytest.raises(tf.errors.InvalidArgumentError, match="one value per row of tokens"):
        cut_tokens(ROWS, tf.constant(lengths), None)


def test_the_vocabulary_as_an_asset(tmp_path):
    features = TokenIndexer(Vocabulary(["<S>", "</S>", "<UNK>", "a"]))
    with pytest.raises(ValueError, match="reads whole tokens, which need no WordPiece"):
        with_vocabulary(features, tmp_path, core_ops=False)
    found = with_vocabulary(features, tmp_path)
    assert (tmp_path / "vocabulary.txt").read_text() == "<S>\n</S>\n<UNK>\na\n"
    expected = features(ROWS)["token_ids"].numpy().tolist()
    assert found(ROWS)["token_ids"].numpy().tolist() == expected
