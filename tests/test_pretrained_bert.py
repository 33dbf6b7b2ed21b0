"""load_pretrainer: from a run folder and from a checkpoint, and sources that are wrong."""

import types

import keras
import numpy as np
import pytest

from tfreps.models import BertEncoder, BertPretrainer
from tfreps.pretrained_bert import check_size, load_pretrainer
from tfreps.run_folder import RunFolder
from tfreps.text.bert_tokens import WordPieceTokenizer, write_tokenizer

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abc"]
SIZES = {"units": 8, "num_layers": 1, "num_heads": 2}
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
        np.testing.assert_allclose(model(FEATURES)[name], value, atol=1e-5)


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
        rough = load_pretrainer(source, dtype="mixed_bfloat16").model
    finally:
        keras.config.set_dtype_policy("float32")
    assert rough.compute_dtype == rough.encoder.compute_dtype == "bfloat16"


def test_next_sentences_can_be_left_but_not_begun(tmp_path):
    old = make()
    model = load_pretrainer(write_run(tmp_path / "with", old), next_sentence=False).model
    assert list(model(FEATURES)) == ["token_logits"]
    assert not any("pooler" in weight.path for weight in model.trainable_weights)
    np.testing.assert_allclose(
        model(FEATURES)["token_logits"], old(FEATURES)["token_logits"], atol=1e-6
    )
    source = write_run(tmp_path / "without", make(next_sentence=False))
    assert not load_pretrainer(source).model.next_sentence
    with pytest.raises(ValueError, match="trained without next sentences"):
        load_pretrainer(source, next_sentence=True)


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
    with pytest.raises(ValueError, match="has 7 tokens.* has 8, .* another model's"):
        load_pretrainer(source)
    RunFolder.create(tmp_path / "empty", "pretrain-bert", {})
    with pytest.raises(ValueError, match="holds no model.keras"):
        load_pretrainer(tmp_path / "empty")
    run = RunFolder.create(tmp_path / "encoder", "pretrain-bert", {})
    run.save_model(make().encoder)
    with pytest.raises(ValueError, match="holds a BertEncoder; expected a BertPretrainer"):
        load_pretrainer(run.path)


@pytest.mark.parametrize("spare, fits", [(-1, False), (0, True), (1024, True), (1025, False)])
def test_a_table_may_be_rounded_up_but_not_to_many_times_the_vocabulary(spare, fits):
    tokenizer = WordPieceTokenizer(PIECES)
    size = len(tokenizer.vocabulary)
    encoder = types.SimpleNamespace(vocabulary_size=size + spare, padding_id=tokenizer.padding_id)
    if fits:
        check_size(encoder, tokenizer, "published")
        return
    with pytest.raises(ValueError, match=f"published has .* tokens.* has {size} *, .*another"):
        check_size(encoder, tokenizer, "published")
