"""open_for_export accepts paths and loaded models of every kind."""

import keras
import numpy as np
import pytest

from tests import known_models, tiny_bert
from tests.exported_models import make_trained
from tests.tiny_run import VOCABULARY, make_pretrainer, make_run
from tfreps._src.export.bert_signatures import BertSignatures
from tfreps._src.export.bilm_signatures import BiLMSignatures
from tfreps._src.export.labeling_signatures import TextSignatures
from tfreps.export import open_for_export
from tfreps.inference import TextBert, TextBiLM
from tfreps.models import Tagger, TokenEmbedder


@pytest.mark.slow
def test_run_folders(tmp_path):
    known_models.tagger_run(tmp_path / "tagger")
    tiny_bert.write_run(tmp_path / "bert", tiny_bert.pieces("the"))
    make_run(tmp_path / "elmo")
    kinds = {"tagger": TextSignatures, "bert": BertSignatures, "elmo": BiLMSignatures}
    for name, kind in kinds.items():
        assert isinstance(open_for_export(tmp_path / name), kind)
    warm = open_for_export(tmp_path / "elmo", initial_state="warm")
    assert warm.bilm.initial_state == "warm" and not warm.explains


def test_a_published_bert_with_a_head(tmp_path):
    tokenizer = tiny_bert.pieces("the")
    model = Tagger(tiny_bert.make_encoder(tokenizer), ["O", "B-X", "I-X"], use_crf=False)
    model.save_pretrained(tmp_path)
    tokenizer.write_vocabulary(tmp_path / "vocab.txt")
    signatures = open_for_export(tmp_path, scheme="bio")
    assert isinstance(signatures, TextSignatures) and signatures.trained.scheme == "bio"


@pytest.mark.slow
def test_models_that_were_made_here():
    trained = make_trained("hmm")
    signatures = open_for_export(trained, explain=True)
    assert signatures.trained is trained and signatures.explains
    found = signatures.expected(["Ada lives"])
    np.testing.assert_array_equal(found["tokens"], [["Ada", "lives"]])
    twin = open_for_export(TextBiLM(make_pretrainer(), VOCABULARY, "carry"))
    assert twin.bilm.initial_state == "zero"


def test_what_cannot_be_exported(tmp_path):
    with pytest.raises(ValueError, match="nowhere does not exist"):
        open_for_export(tmp_path / "nowhere")
    bilm = TextBiLM(make_pretrainer(), source="runs/elmo")
    with pytest.raises(ValueError, match="runs/elmo contains a language model but no vocabulary"):
        open_for_export(bilm)
    with pytest.raises(ValueError, match="a biLM reads whole tokens"):
        open_for_export(TextBiLM(make_pretrainer(), VOCABULARY), core_ops=False)
    with pytest.raises(ValueError, match="reads whole tokens, which need no WordPiece"):
        open_for_export(make_trained("hmm"), core_ops=False)
    with pytest.raises(ValueError, match="has no vocabulary"):
        open_for_export(TextBert(tiny_bert.make_encoder(tiny_bert.pieces("the"))))
    Tagger(TokenEmbedder(vocabulary_size=9), ["O", "X"]).save_to_preset(tmp_path / "tagger")
    with pytest.raises(ValueError, match="tagger contains a Tagger without the vocabulary or tok"):
        open_for_export(tmp_path / "tagger")


@pytest.mark.parametrize("make", [make_pretrainer, keras.Sequential, lambda: None])
def test_a_source_that_is_no_loaded_model(make):
    source = make()
    message = f"must be the path of a model.*got a {type(source).__name__}. Pass a model in memory"
    with pytest.raises(ValueError, match=message):
        open_for_export(source)


def test_options_of_a_model_that_is_already_loaded():
    with pytest.raises(ValueError, match="options `initial_state` apply only if `source` is a"):
        open_for_export(TextBiLM(make_pretrainer(), VOCABULARY), initial_state="warm")
