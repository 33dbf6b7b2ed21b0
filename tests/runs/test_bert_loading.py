"""Loading BERTs from run folders and checkpoints."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny_bert
from tests.closeness import assert_close
from tfreps._src.runs.bert_loading import load_encoder, load_pretrainer
from tfreps._src.runs.bert_parts import changed_encoder, freeze_layers, least, max_length
from tfreps._src.runs.model_files import save_to_preset
from tfreps.models import BertEncoder, BertPretrainer, Classifier
from tfreps.runs import RunFolder
from tfreps.text import WordPieceTokenizer, read_tokenizer, write_tokenizer

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abc"]


SIZES = {"hidden_dim": 8, "num_layers": 1, "num_heads": 2}


FEATURES = {"token_ids": np.array([[2, 5, 4, 3]]), "masked_positions": np.array([[2]])}


def make(next_sentence=True, size=8):
    encoder = BertEncoder(size, pooler=next_sentence, dropout=0.3, **SIZES)
    model = BertPretrainer(encoder, next_sentence)
    rng = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    return model


def write_run(folder, model, pieces=PIECES):
    run = RunFolder.create(folder, "pretrain-bert", {})
    run.save_model(model)
    write_tokenizer(WordPieceTokenizer(pieces), run.tokenizer_path)
    return folder


def assert_equal(model, expected):
    for name, value in expected(FEATURES).items():
        assert_close(model(FEATURES)[name], value)


def test_a_run_goes_on_with_other_dropout_and_precision(tmp_path):
    old = make()
    old.encoder.trainable = False
    source = write_run(tmp_path / "run", old)
    model, tokenizer = load_pretrainer(source, dropout=0.1)
    assert_equal(model, old)
    assert model.encoder.dropout == 0.1 and model.encoder.trainable and model.next_sentence
    assert tokenizer.vocabulary == PIECES
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        rough = load_pretrainer(source, dtype="mixed_bfloat16")[0]
    finally:
        keras.config.set_dtype_policy("float32")
    assert rough.compute_dtype == rough.encoder.compute_dtype == "bfloat16"


def test_next_sentences_can_be_left_but_not_begun(tmp_path):
    old = make()
    model = load_pretrainer(write_run(tmp_path / "with", old), next_sentence=False)[0]
    assert list(model(FEATURES)) == ["token_logits"]
    assert not any("pooler" in weight.path for weight in model.trainable_weights)
    assert_close(model(FEATURES)["token_logits"], old(FEATURES)["token_logits"])
    source = write_run(tmp_path / "without", make(next_sentence=False))
    assert not load_pretrainer(source)[0].next_sentence
    with pytest.raises(ValueError, match="trained without next-sentence"):
        load_pretrainer(source, next_sentence=True)
    with pytest.raises(ValueError, match="`next_label` must be 0, the value that .*without"):
        load_pretrainer(source, next_label=1)


@pytest.mark.slow
def test_a_checkpoint_with_its_vocabulary(tmp_path):
    old = make()
    old.save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    model, tokenizer = load_pretrainer(tmp_path)
    assert_equal(model, old)
    assert tokenizer.vocabulary == PIECES and model.next_sentence


def test_what_is_refused(tmp_path):
    with pytest.raises(ValueError, match="nowhere does not exist"):
        load_pretrainer(tmp_path / "nowhere")
    source = write_run(tmp_path / "run", make(size=7))
    with pytest.raises(ValueError, match="has 7 tokens .* has 8 tokens .* another model"):
        load_pretrainer(source)
    RunFolder.create(tmp_path / "empty", "pretrain-bert", {})
    with pytest.raises(ValueError, match="contains no model.keras"):
        load_pretrainer(tmp_path / "empty")
    run = RunFolder.create(tmp_path / "encoder", "pretrain-bert", {})
    run.save_model(make().encoder)
    with pytest.raises(ValueError, match="contains a BertEncoder; expected a BertPretrainer"):
        load_pretrainer(run.path)


TOKENIZER = tiny_bert.pieces("good", "badly")


IDS = {"token_ids": tf.constant([[2, 5, 6, 7, 3]])}


@pytest.fixture(scope="module", params=["run", "checkpoint"])
def source(request, tmp_path_factory):
    write = tiny_bert.write_run if request.param == "run" else tiny_bert.write_checkpoint
    return write(tmp_path_factory.mktemp("bert") / request.param, TOKENIZER)


@pytest.mark.few(1)
def test_the_same_numbers_and_the_same_pieces(source):
    path, encoder = source
    found = load_encoder(path)
    for name in ("sequence_output", "pooled_output"):
        assert_close(found.encoder(IDS)[name], encoder(IDS)[name])
    assert found.tokenizer.vocabulary == TOKENIZER.vocabulary and found.tokenizer.lowercase
    assert max_length(*found) == 24


@pytest.mark.few(1)
def test_the_first_blocks_and_other_dropout(source):
    path, encoder = source
    found = load_encoder(path, num_layers=1, pooler=False, dropout=0.25).encoder
    assert (found.num_layers, found.dropout, found.pooler_dense) == (1, 0.25, None)
    expected = encoder(IDS)["layer_outputs"][:, 1]
    assert_close(found(IDS)["sequence_output"], expected)
    with pytest.raises(ValueError, match="2 blocks|2.*num_layers|num_layers.*3"):
        load_encoder(path, num_layers=3)


@pytest.mark.few(1)
@pytest.mark.parametrize("options", [{}, {"embedding_dim": 8}, {"num_segments": 0}])
def test_freezing(options):
    encoder = tiny_bert.make_encoder(TOKENIZER, pooler=False, **options)

    def trained():
        return {weight.path.split("/")[0] for weight in encoder.trainable_weights}

    everything = trained()
    freeze_layers(encoder, 0)
    assert trained() == everything
    freeze_layers(encoder, 1)
    assert trained() == {"block_1"}
    freeze_layers(encoder, 2)
    assert trained() == set()
    with pytest.raises(ValueError, match=r"frozen layers must be in \[0, 2\]; got 3"):
        freeze_layers(encoder, 3)


@pytest.mark.few(1)
@pytest.mark.parametrize("options", [{"embedding_dim": 8}, {"num_segments": 0}])
def test_other_options_of_the_network(options):
    encoder = tiny_bert.make_encoder(TOKENIZER, **options)
    found = changed_encoder(encoder, "x", {"num_layers": 1})
    expected = encoder(IDS)["layer_outputs"][:, 1]
    assert_close(found(IDS)["sequence_output"], expected)


def test_what_cannot_be_loaded(tmp_path):
    with pytest.raises(ValueError, match="nowhere does not exist"):
        load_encoder(tmp_path / "nowhere")
    path, _ = tiny_bert.write_run(tmp_path / "run", TOKENIZER, pooler=False)
    with pytest.raises(ValueError, match="has no pooler. Choose a pooling other"):
        load_encoder(path, pooler=True)
    larger = tiny_bert.pieces("good", "badly", "other")
    tiny_bert.write_tokenizer(larger, RunFolder.open(path).tokenizer_path)
    with pytest.raises(ValueError, match="has 8 tokens and padding id 0, .* has 10 tokens and"):
        load_encoder(path)
    RunFolder.create(tmp_path / "other", "train-tagger", {})
    with pytest.raises(ValueError, match="is a run of `tfreps train-tagger`; expected a run of"):
        load_encoder(tmp_path / "other")


def test_lengths():
    bert = tiny_bert.make_encoder(TOKENIZER, positions="sinusoidal")
    assert max_length(bert, TOKENIZER) is None
    short = WordPieceTokenizer(TOKENIZER.vocabulary, max_length=9)
    assert max_length(bert, short) == 9
    assert max_length(tiny_bert.make_encoder(TOKENIZER, max_sequence_length=8), short) == 8


def test_the_limit_of_a_checkpoint(tmp_path):
    """transformers writes the maximum length as `model_max_length`."""
    path, _ = tiny_bert.write_checkpoint(tmp_path / "hf", TOKENIZER)
    (path / "tokenizer_config.json").write_text('{"model_max_length": 7}')
    found = load_encoder(path)
    assert found.tokenizer.max_length == max_length(*found) == 7
    assert (least(None, None), least(None, 3), least(4, 3)) == (None, 3, 3)


def test_the_encoder_of_a_preset(tmp_path):
    """Any model with a BERT encoder, if its tokenizer is there."""
    path, encoder = tiny_bert.write_run(tmp_path / "run", tiny_bert.pieces("good", "bad"))
    tokenizer = read_tokenizer(RunFolder.open(path).tokenizer_path)
    classifier = Classifier(encoder, ["bad", "good"], "mean")
    save_to_preset(classifier, tmp_path / "mine", tokenizer=tokenizer)
    found = load_encoder(tmp_path / "mine", num_layers=1)
    assert len(found.encoder.blocks) == 1 and found.tokenizer.vocabulary == tokenizer.vocabulary
    np.testing.assert_array_equal(found.encoder.weights[0], encoder.weights[0])
    save_to_preset(classifier, tmp_path / "without")
    with pytest.raises(ValueError, match="without contains no tokenizer"):
        load_encoder(tmp_path / "without")
