"""Pieces equal those of transformers' BertTokenizer; see benchmarks/peers/bert_tokens.py."""

import json
import pathlib

import pytest

from docs.by_hand import bert
from tfreps.text import WordPieceTokenizer

SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
CASES = json.loads(pathlib.Path(__file__).with_name("bert_pieces.json").read_text("utf-8"))
IDS = [
    " ".join(f"{name}={value}" for name, value in case.items() if name != "ids")
    for case in CASES["options"]
]


def case_tokenizer(case):
    options = {name: value for name, value in case.items() if name != "ids"}
    return WordPieceTokenizer(CASES["vocabulary"], **options)


@pytest.mark.parametrize("case", CASES["options"], ids=IDS)
def test_difficult_texts_have_the_ids_that_transformers_gives(case):
    tokenizer = case_tokenizer(case)
    for text, ids in zip(CASES["texts"], case["ids"], strict=True):
        assert tokenizer.text_to_ids(text) == ids, text
        assert tokenizer.pieces_to_ids(tokenizer.tokenize(text)) == ids


def test_the_difficult_texts_say_something():
    """The cases have known pieces, and words on both sides of the limit."""
    for case in CASES["options"]:
        flat = [piece for ids in case["ids"] for piece in ids]
        assert len(flat) > 1500 and flat.count(1) < 50
    lengths = {len(text) for text in CASES["texts"]}
    assert {99, 100, 101, 199, 200, 201} <= lengths


@pytest.mark.parametrize(
    "text", ["abab baab, abc.aab!", "Ábaa\u0308 $b両b a-b", "", "ccab bbbbb 両両", "a" * 60 + "c"]
)
def test_pieces_are_the_longest_from_the_left(text):
    vocabulary = [*SPECIALS, "a", "b", "ab", "aba", "##a", "##b", "##ba", "##bab", "!", "両", "-"]
    words = bert.words(text)
    expected = [piece for word in words for piece in bert.word_pieces(word, vocabulary)]
    assert WordPieceTokenizer(vocabulary).tokenize(text) == expected


def test_the_longest_word():
    vocabulary = [*SPECIALS, "a", "##a", "两"]
    for longest in (1, 99, 200):
        tokenizer = WordPieceTokenizer(vocabulary, max_characters_per_word=longest)
        assert tokenizer.tokenize("a" * longest + " a") == ["a", *["##a"] * (longest - 1), "a"]
        assert tokenizer.tokenize("a" * (longest + 1) + " a") == ["[UNK]", "a"]
    assert tokenizer.tokenize("两" * 300) == ["两"] * 300
    with pytest.raises(ValueError, match="must be at least 1; got 0"):
        WordPieceTokenizer(vocabulary, max_characters_per_word=0)


def test_special_tokens_are_no_text():
    tokenizer = WordPieceTokenizer([*SPECIALS, "[", "]", "mask", "cls"])
    assert tokenizer.tokenize("[MASK][CLS]") == ["[", "mask", "]", "[", "cls", "]"]


def test_many_texts_at_once():
    tokenizer = case_tokenizer(CASES["options"][0])
    texts = [*CASES["texts"] * 9, "a\ud800b", ""]
    ids = tokenizer.texts_to_ids(texts)
    assert ids == [tokenizer.pieces_to_ids(tokenizer.tokenize(text)) for text in texts]
    assert tokenizer.texts_to_ids(("a\ud800b",)) == tokenizer.texts_to_ids(["a\ufffdb"])
    assert tokenizer.texts_to_ids([]) == []
