"""Tests the inputs of taggers and classifiers that the options name."""

import argparse

import numpy as np
import pytest

from tests import tiny_bert
from tests.tiny_run import make_run
from tfreps._src.cli.options import default_values
from tfreps._src.runs.bert_loading import EncoderAndTokenizer
from tfreps.data import TaggedSentence
from tfreps.runs import RunFolder
from tfreps.text import read_tokenizer
from tfreps.training.inputs import bert_inputs
from tfreps.training.inputs import read_inputs as inputs
from tfreps.training.train_tagger import COMMAND

DEFAULTS = default_values(COMMAND.options)
SENTENCES = [["The", "dog", "7"], ["the", "cat", "8"], ["the", "dog", "9"]]


def options(**given):
    parts = {"train": ["train.txt"], "validation": None, "test": None}
    return argparse.Namespace(**{**DEFAULTS, **parts, **given})


def test_features_are_made_of_the_training_words_as_asked():
    def words(**given):
        return inputs.make_indexer(options(**given), SENTENCES).vocabulary.tokens[3:]

    assert sorted(words()) == ["7", "8", "9", "The", "cat", "dog", "the"]
    assert words(lowercase=True, digits_to_zero=True) == ["0", "the", "dog", "cat"]
    assert sorted(words(min_count=2)) == ["dog", "the"]
    assert len(words(max_vocabulary=5)) == 2


def test_characters_are_made_only_for_what_reads_them(tmp_path):
    def number(elmo=None, **given):
        return inputs.make_indexer(options(**given), SENTENCES, elmo).max_characters

    assert number() is None
    assert number(characters="cnn", max_characters=20) == 20
    path, _ = make_run(tmp_path / "run", max_characters=30)
    elmo, _ = inputs.read_elmo(options(elmo=path))
    assert number(elmo) == number(elmo, characters="cnn", max_characters=20) == 30


@pytest.mark.slow
def test_elmo_as_asked(tmp_path):
    path, model = make_run(tmp_path / "run")
    assert inputs.read_elmo(options()) == (None, None)
    elmo, _ = inputs.read_elmo(options(elmo=path))
    weights = [variable.path for variable in elmo.trainable_variables]
    assert weights == ["mix_0/gamma", "mix_0/scalar_weights"]
    for ours, theirs in zip(elmo.bilm.weights, model.bilm.weights, strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    top, _ = inputs.read_elmo(options(elmo=path, elmo_top_only=True))
    assert [variable.path for variable in top.trainable_variables] == ["mix_0/gamma"]
    tuned, _ = inputs.read_elmo(options(elmo=path, elmo_fine_tune=True, elmo_initial_state="warm"))
    assert len(tuned.trainable_variables) == 2 + len(model.bilm.trainable_variables)
    assert tuned.bilm.initial_state == "warm"


def test_a_bilm_that_reads_ids_of_its_own(tmp_path):
    path, _ = make_run(tmp_path / "run", vocabulary_size=19, sentence_start_id=1, sentence_end_id=2)
    with pytest.raises(ValueError, match="`elmo` must be a biLM that reads character ids"):
        inputs.read_elmo(options(elmo=path))


def test_vectors_of_the_vocabulary(tmp_path, capsys):
    path = tmp_path / "vectors.txt"
    path.write_text("the 1 2\ndog 3 4\nhouse 5 6\n")
    assert inputs.read_inputs(options(), SENTENCES, 1, print).vectors is None
    read = inputs.read_inputs(options(vectors=str(path)), SENTENCES, 1, print)
    assert read.num_frozen_words == 1 and read.indexer.vocabulary.tokens[-1] == "house"
    rows = dict(zip(read.indexer.vocabulary.tokens, read.vectors.matrix.tolist(), strict=True))
    assert rows["The"] == rows["the"] == [1, 2] and rows["dog"] == [3, 4]
    assert rows["house"] == [5, 6] and 0 < np.abs(rows["cat"]).max() < 1.3  # sqrt(3 / 2)
    assert read.indexer([["HOUSE"]])["token_ids"].numpy() == 11
    assert f"Word vectors: 3 of 10 words have a vector in {path}" in capsys.readouterr().out


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """Returns the path of a BERT with 24 positions."""
    tokenizer = tiny_bert.pieces("dogs", "sat")
    return tiny_bert.write_run(tmp_path_factory.mktemp("bert") / "run", tokenizer)[0]


def test_a_bert_as_asked(bert):
    assert bert_inputs.read_bert(options(), print) is None
    given = options(encoder="bert", bert=bert, num_layers=1, bert_dropout=0.25, freeze_layers=1)
    encoder, tokenizer = bert_inputs.read_bert(given, print)
    assert (encoder.num_layers, encoder.dropout, encoder.attention_dropout) == (1, 0.25, 0.25)
    assert encoder.pooler_dense is None and not encoder.trainable_variables
    assert tokenizer.tokenize("dogs") == ["dogs"]
    encoder = bert_inputs.read_bert(options(encoder="bert", bert=bert), print, pooler=True).encoder
    assert (encoder.num_layers, encoder.dropout) == (2, 0.0) and encoder.pooler_dense is not None
    assert inputs.make_indexer(given, [], bert=EncoderAndTokenizer(encoder, tokenizer)).words


def test_a_bert_with_adapters(bert):
    given = options(encoder="bert", bert=bert, lora_rank=3)
    trained = bert_inputs.read_bert(given, print).encoder.trainable_weights
    assert {weight.name for weight in trained} == {"lora_kernel_a", "lora_kernel_b"}
    assert {min(weight.shape) for weight in trained} == {3}
    given = options(
        encoder="bert",
        bert=bert,
        lora_rank=3,
        lora_alpha=6.0,
        lora_dropout=0.5,
        target_modules=["output.dense", "value"],
    )
    encoder = bert_inputs.read_bert(given, print).encoder
    block = encoder.blocks[0]
    assert block.contract.lora_alpha == 6.0 and block.contract.lora_drop.rate == 0.5
    assert block.attention.query_key_value.lora_parts == (2,) and not block.expand.lora_enabled


def test_a_bert_of_new_weights(bert):
    old = bert_inputs.read_bert(options(encoder="bert", bert=bert), print)
    new = bert_inputs.read_bert(options(encoder="bert", bert=bert, bert_from_scratch=True), print)
    assert new.tokenizer.vocabulary == old.tokenizer.vocabulary
    for ours, theirs in zip(new.encoder.weights, old.encoder.weights, strict=True):
        assert ours.shape == theirs.shape and ours.path.split("/")[-1] == theirs.path.split("/")[-1]
        is_constant = ours.path.endswith(("bias", "gamma", "beta"))
        assert is_constant or np.abs(np.array(ours) - np.array(theirs)).max() > 0.01


def test_sentences_have_to_fit(bert):
    bert = bert_inputs.read_bert(options(encoder="bert", bert=bert), print)
    fits = TaggedSentence(["dogs"] * 22, ["O"] * 22, "f.conll", 1)
    bert_inputs.check_sentences({"train": [fits], "validation": []}, bert)
    longer = TaggedSentence(["dogs"] * 23, ["O"] * 23, "f.conll", 30)
    bert_inputs.check_sentences({"train": [longer]}, None)
    with pytest.raises(ValueError, match="f.conll, line 30: .* at most 22 pieces .* got 23"):
        bert_inputs.check_sentences({"train": [fits], "validation": [longer]}, bert)


def test_what_a_run_keeps(tmp_path, bert):
    run = RunFolder.create(tmp_path / "run", "train-tagger", {})
    inputs.keep(run, inputs.make_indexer(options(), SENTENCES))
    assert run.vocabulary_path.exists() and not run.tokenizer_path.exists()
    run = RunFolder.create(tmp_path / "other", "train-tagger", {})
    bert = bert_inputs.read_bert(options(encoder="bert", bert=bert), print)
    inputs.keep(run, inputs.make_indexer(options(), SENTENCES, bert=bert))
    assert read_tokenizer(run.tokenizer_path).vocabulary == bert.tokenizer.vocabulary
    assert not run.vocabulary_path.exists()


def test_what_an_encoder_reads(tmp_path, capsys):
    (tmp_path / "vectors.txt").write_text("the 1 2\ndog 3 4\n")
    given = options(vectors=str(tmp_path / "vectors.txt"), elmo=make_run(tmp_path / "run")[0])
    read = inputs.read_inputs(given, [["the", "dog"], ["a", "cat"]], 3, print)
    assert read.num_classes == 3 and read.bert is None and read.stored == (0, 0)
    rows = dict(zip(read.indexer.vocabulary.tokens, read.vectors.matrix, strict=True))
    assert len(rows) == 7
    np.testing.assert_array_equal([rows["dog"], rows["the"]], [[3, 4], [1, 2]])
    assert read.elmo.bilm.max_characters == read.indexer.max_characters
    assert "Word vectors: 2 of 7 words have a vector in" in capsys.readouterr().out
