"""The graph, with and without tensorflow-text, equals Python except in the named cases."""

import builtins
import unicodedata

import hypothesis
import pytest
import tensorflow as tf
from hypothesis import strategies

from tests.text.bert.test_wordpiece import CASES, IDS, SPECIALS, case_tokenizer
from tfreps._src.text.bert import character_classes
from tfreps.text import WordPieceTokenizer

PIECES = ["a", "##a", "b", "##b", "ab", "##ab", "e", "##e", "é", "##é", "i", "##i", "σ", "##σ"]
PIECES += ["ς", "s", "##s", "3", "##3", ".", "!", "两", "##两", "ᄒ", "##ᅡ", "##ᆫ", "한", "##한"]
TOKENIZERS = {
    lowercase: WordPieceTokenizer([*SPECIALS, *PIECES], lowercase=lowercase)
    for lowercase in (True, False)
}


def is_exception(c):
    """Returns True for the exceptions that the docstring of `WordPieceTokenizer` describes."""
    is_mark = unicodedata.category(c)[0] == "P"
    separated = any(first <= ord(c) <= last for first, last in character_classes.punctuation())
    is_sorted = unicodedata.combining(c) and STRIPPED.get(c) != ""
    return c > "~" and is_mark != separated or "\U0002b820" <= c < "\U0002b920" or is_sorted


STRIPPED = character_classes.replacements(True, True)


def alphabet():
    exceptions = filter(is_exception, map(chr, [*range(0xD800), *range(0xE000, 0x30000)]))
    return strategies.one_of(
        strategies.sampled_from("aabbeeAéÉ\u0301İΣς3.![]#两한 \t\n\u3000\0\u200d\x0b\ue000\ufffd"),
        # The tables of Unicode of tensorflow-text and Python lack different new characters.
        strategies.characters(
            exclude_categories=["Cs", "Cn"], exclude_characters="".join(exceptions)
        ),
    )


# The exceptions take seconds, which only the test that draws from them should.
TEXTS = strategies.lists(strategies.text(strategies.deferred(alphabet), max_size=12), max_size=4)


@pytest.mark.few(1)
@pytest.mark.parametrize("case", CASES["options"], ids=IDS)
def test_core_operations_on_difficult_texts(case):
    assert case_tokenizer(case)(CASES["texts"], core_ops=True).to_list() == case["ids"]


@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES["options"][:4], ids=IDS[:4])
def test_tensorflow_text_differs_on_words_of_more_bytes_than_characters_alone(case):
    """It counts bytes: 51 times `ж` is 102 bytes, and a Hangul syllable is at least 3."""
    pytest.importorskip("tensorflow_text")
    tokenizer = case_tokenizer(case)
    ids = tokenizer(CASES["texts"]).to_list()
    for text, own, expected in zip(CASES["texts"], ids, case["ids"], strict=True):
        if own != expected:
            assert set(text) in ({"é"}, {"ж"}, {"가"}), text
            assert own == [1] and len(text) <= 100 and len(text.encode()) >= 99


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES["options"], ids=IDS)
def test_core_operations_on_every_character(case):
    tokenizer = case_tokenizer(case)
    codes = [*range(0xD800), *range(0xE000, 0x110000)]
    texts = ["".join(f"a{chr(c)}b" for c in codes[n : n + 50]) for n in range(0, len(codes), 50)]
    assert tokenizer(texts, core_ops=True).to_list() == list(map(tokenizer.text_to_ids, texts))


def test_without_chinese_apart_it_is_core_operations():
    tokenizer = case_tokenizer(CASES["options"][4])
    assert tokenizer.graph(False).fast is None
    assert tokenizer(CASES["texts"]).to_list() == CASES["options"][4]["ids"]


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
@hypothesis.settings(max_examples=60)
@hypothesis.given(texts=TEXTS)
def test_any_texts(lowercase, texts):
    tokenizer = TOKENIZERS[lowercase]
    expected = [tokenizer.text_to_ids(text) for text in texts]
    strings = tf.constant(texts, tf.string)
    assert tokenizer(strings, core_ops=True).to_list() == expected
    assert tokenizer(strings).to_list() == expected


@pytest.mark.slow
def test_in_a_dataset_and_as_a_saved_model(tmp_path):
    tokenizer = TOKENIZERS[True]
    texts = ["Ab 两!", "", "aÉ\u200d"]
    expected = [[9, 26, 25], [], [5, 12]]
    (ids,) = tf.data.Dataset.from_tensors(texts).map(tokenizer)
    assert ids.to_list() == expected and ids.dtype == tf.int32
    module = tf.Module()
    module.graph = tokenizer.graph(core_ops=True)
    spec = tf.TensorSpec([None], tf.string)
    module.ids = tf.function(lambda strings: module.graph(strings).to_tensor(-1), [spec])
    tf.saved_model.save(module, tmp_path / "saved")
    again = tf.saved_model.load(tmp_path / "saved").ids(texts)
    assert again.numpy().tolist() == [[9, 26, 25], [-1] * 3, [5, 12, -1]]


def test_bytes_that_are_no_utf8_are_left_out():
    pytest.importorskip("tensorflow_text")
    for core_ops in (True, False):
        ids = TOKENIZERS[True]([b"a\xffb \xe4\xb8", b"\xff"], core_ops=core_ops)
        assert ids.to_list() == [[9], []]


def test_without_tensorflow_text(monkeypatch):
    real = builtins.__import__

    def missing(name, *more):
        if name == "tensorflow_text":
            raise ImportError("no such library")
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", missing)
    tokenizer = WordPieceTokenizer([*SPECIALS, *PIECES])
    with pytest.raises(ValueError, match="needs tensorflow-text.*no such library.*core_ops=True"):
        tokenizer(["a"])
    assert tokenizer(["a"], core_ops=True).to_list() == [[5]]
