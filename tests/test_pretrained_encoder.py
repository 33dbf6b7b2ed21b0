"""Encoders to build on, from a run folder and from a checkpoint; what may be frozen."""

import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tfreps.pretrained_encoder import freeze_blocks, least, load_encoder, max_length
from tfreps.run_folder import RunFolder
from tfreps.text.bert_tokens import WordPieceTokenizer

TOKENIZER = tiny_bert.pieces("good", "badly")
IDS = {"token_ids": tf.constant([[2, 5, 6, 7, 3]])}


@pytest.fixture(scope="module", params=["run", "checkpoint"])
def source(request, tmp_path_factory):
    write = tiny_bert.write_run if request.param == "run" else tiny_bert.write_checkpoint
    return write(tmp_path_factory.mktemp("bert") / request.param, TOKENIZER)


def test_the_same_numbers_and_the_same_pieces(source):
    path, encoder = source
    found = load_encoder(path)
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(found.encoder(IDS)[name], encoder(IDS)[name], atol=1e-6)
    assert found.tokenizer.vocabulary == TOKENIZER.vocabulary and found.tokenizer.lowercase
    assert max_length(*found) == 24


def test_the_first_blocks_and_other_dropout(source):
    path, encoder = source
    found = load_encoder(path, num_layers=1, pooler=False, dropout=0.25).encoder
    assert (found.num_layers, found.dropout, found.pooler_dense) == (1, 0.25, None)
    expected = encoder(IDS)["layer_outputs"][:, 1]
    np.testing.assert_allclose(found(IDS)["sequence_output"], expected, atol=1e-6)
    with pytest.raises(ValueError, match="2 blocks|2.*num_layers|num_layers.*3"):
        load_encoder(path, num_layers=3)


def test_freezing():
    encoder = tiny_bert.make_encoder(TOKENIZER, pooler=False)

    def trained():
        return {weight.path.split("/")[0] for weight in encoder.trainable_weights}

    everything = trained()
    freeze_blocks(encoder, 0)
    assert trained() == everything
    freeze_blocks(encoder, 1)
    assert trained() == {"block_1"}
    freeze_blocks(encoder, 2)
    assert trained() == set()
    with pytest.raises(ValueError, match="There are 2 blocks, of which 3 cannot be frozen"):
        freeze_blocks(encoder, 3)


def test_what_cannot_be_loaded(tmp_path):
    with pytest.raises(ValueError, match="no BERT to load: .*nowhere does not exist"):
        load_encoder(tmp_path / "nowhere")
    path, _ = tiny_bert.write_run(tmp_path / "run", TOKENIZER, pooler=False)
    with pytest.raises(ValueError, match="has no pooler: choose another pooling"):
        load_encoder(path, pooler=True)
    larger = tiny_bert.pieces("good", "badly", "other")
    tiny_bert.write_tokenizer(larger, RunFolder.open(path).tokenizer_path)
    with pytest.raises(ValueError, match="has 8 tokens, padding being 0; .* has 10, padding"):
        load_encoder(path)
    RunFolder.create(tmp_path / "other", "train-tagger", {})
    with pytest.raises(ValueError, match="is a run of `tfreps train-tagger`; expected one of"):
        load_encoder(tmp_path / "other")


def test_lengths():
    bert = tiny_bert.make_encoder(TOKENIZER, positions="sinusoidal")
    assert max_length(bert, TOKENIZER) is None
    short = WordPieceTokenizer(TOKENIZER.vocabulary, max_length=9)
    assert max_length(bert, short) == 9
    assert max_length(tiny_bert.make_encoder(TOKENIZER, max_positions=8), short) == 8


def test_the_limit_of_a_checkpoint(tmp_path):
    """`model_max_length`, as transformers writes it."""
    path, _ = tiny_bert.write_checkpoint(tmp_path / "hf", TOKENIZER)
    (path / "tokenizer_config.json").write_text('{"model_max_length": 7}')
    found = load_encoder(path)
    assert found.tokenizer.max_length == max_length(*found) == 7
    assert (least(None, None), least(None, 3), least(4, 3)) == (None, 3, 3)
