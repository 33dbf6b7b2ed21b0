"""Objects that `tfreps.load` returns have a readable `repr` and clear errors."""

import pytest

from tests import tiny_bert
from tests.tiny_run import make_pretrainer
from tfreps._src.inference.loaded_model import LoadedModel
from tfreps.inference import TextBert, TextBiLM


def test_what_it_is():
    tokenizer = tiny_bert.pieces("the")
    encoder = tiny_bert.make_encoder(tokenizer)
    bert = TextBert(encoder, tokenizer, "published/bert")
    assert repr(bert) == "<TextBert: BertEncoder of published/bert>"
    assert bert.model is bert.transformer is encoder


def test_no_transformer():
    bilm = TextBiLM(make_pretrainer(), source="runs/elmo")
    assert repr(bilm) == "<TextBiLM: BiLMPretrainer of runs/elmo>"
    with pytest.raises(ValueError, match="runs/elmo contains a BiLMPretrainer .* no positions"):
        assert bilm.transformer
    with pytest.raises(ValueError, match="runs/elmo is a biLM, which cannot compute the attention"):
        bilm.attention("the bank")


def test_no_vocabulary():
    loaded = LoadedModel(make_pretrainer(), "elmo.keras")
    with pytest.raises(ValueError, match="elmo.keras cannot read text, because it was stored with"):
        loaded("the bank")
