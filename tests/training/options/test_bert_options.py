"""Tests the options of BERT pre-training: rules between them, and --init."""

import argparse

import pytest

from tfreps._src.cli.options import default_values
from tfreps._src.data.masked_lm import token_documents
from tfreps._src.layers import position_embedding, transformer
from tfreps._src.models.sizes import BERT
from tfreps._src.text.bert.tokenizer_files import KINDS
from tfreps.training.options.bert_options import MODEL, SIZE, SIZES, TEXT, TOKENS
from tfreps.training.pretrain_bert import COMMAND


def check(**changes):
    options = {**default_values(COMMAND.options), "train": ["t"], "run": "r", **changes}
    COMMAND.check(argparse.Namespace(**options))


def test_what_makes_sense():
    check()
    check(init="r", dropout=0.5, attention_dropout=0.25, next_sentence=False)
    check(format="records", fields=["a", "b"], validation=["v"], patience=2, min_count=2)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"init": "r", "num_layers": 3}, "--num-layers cannot be combined with --init"),
        ({"init": "r", "cased": True}, "--cased cannot be combined with --init"),
    ],
)
def test_what_cannot_be(changes, message):
    with pytest.raises(ValueError, match=message):
        check(**changes)


def test_sizes_are_options_of_the_encoder():
    assert SIZE in BERT and {"num_layers", "hidden_dim"} <= set(BERT[SIZE]) & set(SIZES)
    assert "init" not in SIZES


def test_choices_are_those_of_the_library():
    assert MODEL["size"].choices == sorted(BERT)
    assert set(TOKENS["tokens"].choices) == set(KINDS) - {"json"}  # `--tokens` makes no such file
    assert MODEL["activation"].choices == sorted(transformer.ACTIVATIONS)
    assert MODEL["positions"].choices == list(position_embedding.KINDS)
    assert TEXT["format"].choices == list(token_documents.FORMATS)
    assert TEXT["fields"].default == list(token_documents.RECORD_FIELDS)
