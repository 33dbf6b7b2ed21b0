"""Tests labeled texts: truncation, errors, held-out texts and checks of labels."""

import argparse

import pytest

from tests import tiny_bert
from tfreps._src.cli.option_rules import check_rules
from tfreps._src.cli.options import default_values
from tfreps._src.runs.bert_loading import load_encoder
from tfreps.data import LabeledText
from tfreps.text import tokenize
from tfreps.training.options import labeled_texts
from tfreps.training.options.labeled_texts import (
    OPTIONS,
    read_files,
    read_parts,
)

TEXTS = [LabeledText("dogs sat", "a", "f.tsv", 1), LabeledText("sat " * 9, "b", "f.tsv", 7)]


def options(**given):
    defaults = {"tokens": "words", "max_length": None, "too_long": None, "format": "tab"}
    defaults |= {"text_field": "text", "label_field": "label", "encoding": "utf-8"}
    defaults |= {"quotes": None, "first_row": None}
    defaults |= {"validation_split": 0.25, "seed": 0}
    for part in ("train", "validation", "test"):
        defaults |= {part: None, f"{part}_vectors": None}
    return argparse.Namespace(**{**defaults, **given})


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """Returns a BERT model with 24 positions, and its tokenizer."""
    path = tmp_path_factory.mktemp("bert") / "run"
    return load_encoder(tiny_bert.write_run(path, tiny_bert.pieces("dogs", "sat"))[0])


def test_texts_are_cut_or_refused(bert):
    def cut(bert=None, **given):
        return labeled_texts.cut_texts(options(**given), TEXTS, bert)

    assert cut() == ([["dogs", "sat"], ["sat"] * 9], 0)
    assert cut(max_length=5) == cut()  # the batches truncate them
    with pytest.raises(ValueError, match="f.tsv, line 7: the text has 9 tokens; .* most 5"):
        cut(max_length=5, too_long="error")
    whole = [["[CLS]", "dogs", "sat", "[SEP]"], ["[CLS]", *["sat"] * 9, "[SEP]"]]
    assert cut(bert) == (whole, 0)
    assert cut(bert, max_length=5) == ([whole[0], ["[CLS]", *["sat"] * 3, "[SEP]"]], 1)
    with pytest.raises(ValueError, match="the text has 11 tokens; expected at most 5"):
        cut(bert, max_length=5, too_long="error")
    with pytest.raises(ValueError, match="leave room for text alongside 2 special tokens; got 2"):
        cut(bert, max_length=2)


@pytest.mark.parametrize(
    "text, tokens, expected",
    [("房间很大，没有热水", None, "characters"), ("the room", None, "words"),
     ("房间很大，没有热水", "words", "words")],
)  # fmt: skip
def test_tokens_that_are_chosen_by_the_texts(tmp_path, capsys, text, tokens, expected):
    (tmp_path / "train.tsv").write_text(f"a\t{text}\nb\t{text}\n", encoding="utf-8")
    given = options(train=[str(tmp_path / "train.tsv")], tokens=tokens, validation_split=0.0)
    data = read_parts(given)["train"]
    assert given.tokens == expected
    assert data.tokens[0] == (
        list(text) if expected == "characters" else tokenize([text], "words")[0]
    )
    assert ("Tokens: characters" in capsys.readouterr().out) == (expected == "characters")


def test_some_of_the_training_texts_are_held_out(tmp_path):
    lines = [f"{'ab'[n % 2]}\ttext {n}" for n in range(8)]
    (tmp_path / "train.tsv").write_text("\n".join(lines))
    given = {"train": [str(tmp_path / "train.tsv")], "train_vectors": "v"}
    data = read_parts(options(**given))
    assert {part: len(texts.texts) for part, texts in data.items()} == {"train": 6, "validation": 2}
    assert sorted(data["validation"].labels) == ["a", "b"]
    for part in data.values():
        numbers = part.stored["vector_numbers"]
        assert [tokens[1] for tokens in part.tokens] == [str(n) for n in numbers]
        assert part.stored["vectors"] == "v"
    whole = read_parts(options(**given, validation_split=0.0))
    assert list(whole) == ["train"] and len(whole["train"].texts) == 8


def test_texts_in_the_column_of_the_labels(tmp_path):
    path = tmp_path / "train.tsv"
    path.write_text("".join(f"film number {n}\tgood\n" for n in range(10)))
    message = "10 texts with 10 different labels, such as 'film number 0'.* with --label-field"
    with pytest.raises(ValueError, match=message):
        read_parts(options(train=[str(path)]))
    swapped = {"label_field": "1", "text_field": "0"}
    assert set(
        read_parts(options(train=[str(path)], validation_split=0, **swapped))["train"].labels
    ) == {"good"}


def format_options(**given):
    return argparse.Namespace(**{**default_values(OPTIONS), **given})


def test_columns_by_number(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text('"good"\t1\n\t0\n')
    texts = read_files([str(path)], format_options(text_field="0", label_field="1"))
    assert [(text.text, text.label) for text in texts] == [('"good"', "1"), ("", "0")]
    with pytest.raises(ValueError, match="Check `text_field`, `label_field` and `format`"):
        read_files([str(path)], format_options(text_field="5"))


@pytest.mark.parametrize("name, value", [("quotes", "text"), ("first_row", "data")])
def test_options_of_columns(name, value):
    check_rules(format_options(format="csv", **{name: value}), OPTIONS)
    with pytest.raises(ValueError, match="has no effect with --format json; it applies to tab"):
        check_rules(format_options(format="json", **{name: value}), OPTIONS)
