"""open_for_export accepts paths and loaded models of every kind."""

import keras
import pytest

from tests import tiny_bert
from tests.exported_models import make_trained
from tests.tiny_run import VOCABULARY, make_pretrainer
from tfreps._src.export.labeling_signatures import TextSignatures
from tfreps.export import open_for_export
from tfreps.inference import TextBert, TextBiLM
from tfreps.models import Tagger, TokenEmbedder


def test_a_published_bert_with_a_head(tmp_path):
    tokenizer = tiny_bert.pieces("the")
    model = Tagger(tiny_bert.make_encoder(tokenizer), ["O", "B-X", "I-X"], use_crf=False)
    model.save_pretrained(tmp_path)
    tokenizer.write_vocabulary(tmp_path / "vocab.txt")
    signatures = open_for_export(tmp_path, scheme="bio")
    assert isinstance(signatures, TextSignatures) and signatures.trained.scheme == "bio"


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
