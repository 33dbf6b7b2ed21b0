"""Tests that token counts are those of the graph or slightly higher, and are fast."""

import re
import time

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

from tests import tiny_bert
from tfreps._src.text.tokenizers import TOKENIZERS, tokenize
from tfreps.serving.server.requests.request_limits import PATTERNS, RequestCounter, RequestSize

TEXTS = [
    "The dog sat on the mat .",
    "",
    " \t\n",
    "don't! naïve\u3000über_1 ½ x² 你好, 世界",
    "a\u00a0b\u2003c\x1cd\x85e",
    "!!!---???",
    "e\u0301a\u0308 हिन्दी",
    "☀\ufe0fSunny 👩\u200d👩\u200d👧 \u0301a 🇩🇪🇫🇷 می\u200cخواهم \u202ax\u202c",
    "I'd say: it's 3.50, isn't it -- \"no\"...",
]


def texts(*strings):
    return {"text": np.array([s.encode() for s in strings], object)}


@pytest.mark.parametrize("how", TOKENIZERS)
def test_as_many_as_the_graph_makes_of_it(how):
    counts = [len(tokens) for tokens in tokenize(TEXTS, how)]
    found = [RequestCounter(how).size(texts(text), 100, 10_000).longest for text in TEXTS]
    for count, bound in zip(counts, found, strict=True):
        assert max(count, 1) <= bound <= max(count, 1) + (how != "words")


MARKS = strategies.text("a1,☀\ufe0f👩\u200d❤🏽🇩\u20e3\u200c\u0301\u202a\u200b ", min_size=1)
PUNCTUATED = strategies.text("abntsXYé.'’,:-$\"()”/ 95", min_size=1, max_size=20)


@hypothesis.settings(max_examples=20)
@hypothesis.given(rows=strategies.lists(MARKS, min_size=5, max_size=10))
def test_as_many_words_as_the_graph_makes_of_it(rows):
    for text, tokens in zip(rows, tokenize(rows, "words"), strict=True):
        size = RequestCounter("words").size(texts(text), 1000, 10_000)
        assert size.longest == max(len(tokens), 1)


@hypothesis.settings(max_examples=20)
@hypothesis.given(rows=strategies.lists(PUNCTUATED, min_size=10, max_size=20))
def test_never_fewer_than_the_graph_makes_of_it(rows):
    for text, tokens in zip(rows, tokenize(rows, "treebank"), strict=True):
        assert len(tokens) <= RequestCounter("treebank").size(texts(text), 100, 10_000).longest


def test_words_of_a_bert():
    tokenizer = tiny_bert.pieces("dog", "the")
    for text, tokens in zip(TEXTS, tokenize(TEXTS, tokenizer), strict=True):
        assert len(tokens) <= RequestCounter("bert_words").size(texts(text), 100, 10_000).longest
    assert RequestCounter("bert_words").size(texts("你好 the dog."), 100, 10_000).longest == 5


def test_rows_times_the_longest():
    counter = RequestCounter("spaces")
    size = counter.size(texts("a b c", "", "d"), 100, 10_000)
    assert size == RequestSize(3, 3) and size.padded == 9
    assert counter.size(texts(*[""] * 1_000), 100, 10_000) == RequestSize(1_000, 1)
    assert counter.size(texts(), 100, 10_000).padded == 0
    assert counter.size(texts(b"\xff \xfe".decode("latin-1")), 100, 10_000).longest == 2
    added = RequestCounter("spaces", added_per_text=2).size(texts("a b c", ""), 100, 10_000)
    assert added == RequestSize(2, 5)
    assert RequestCounter("spaces", 2).size(texts("a b c"), 100, 10_000) == RequestSize(1, 2)
    assert RequestCounter("characters", 512, added_per_text=2).size(
        texts("a bc"), 100, 10_000
    ) == RequestSize(1, 5)


def test_attention_counts_squares():
    counter = RequestCounter("spaces", attends=True)
    assert counter.size(texts("a " * 1_024, ""), 5_000, 99_999).padded == 2_048
    assert counter.size(texts("a " * 4_096, ""), 5_000, 99_999).padded == 32_768


def test_arrays_of_tokens_and_ids():
    counter = RequestCounter("words", 512)
    inputs = {"tokens": np.full([3, 7], b"a b", object), "sequence_len": np.ones(3, "int32")}
    assert counter.size(inputs, 100, 10_000) == RequestSize(3, 7)
    inputs = {"character_ids": np.zeros([3, 900, 50], "int32")}
    assert counter.size(inputs, 1_000, 10_000) == RequestSize(3, 512)
    assert counter.size({"batch_size": np.array(5)}, 100, 10_000) == RequestSize(1, 1)


def test_of_an_unknown_model_strings_count_as_one():
    counter = RequestCounter()
    assert counter.size(texts("a b c", "d"), 100, 10_000) == RequestSize(2, 1)
    assert counter.size({"x": np.zeros([1_000, 4])}, 100, 10_000).padded == 0


def test_counting_stops_early():
    text = {"text": np.array([b"a " * 1_500_000] * 5, object)}
    begin = time.monotonic()
    for how in PATTERNS:
        assert RequestCounter(how).size(text, 4_096, 30_000).longest == 4_097
        assert RequestCounter(how).size(text, 4_096, 10_000) == RequestSize(5, 2_001)
    assert time.monotonic() - begin < 5


COUNTS = '{"tokens": "words", "most_per_text": 5, "attends": true, "added_per_text": 0}'


def test_read_from_an_export(tmp_path):
    assert RequestCounter.of_folder(tmp_path).tokens is None
    extra = tmp_path / "assets.extra"
    extra.mkdir()
    for content, words in (
        (
            '{"tokens": "x", "most_per_text": 1, "attends": true, "added_per_text": 2}',
            "`tokens` must be one of .*, or None; got 'x'",
        ),
        *(
            (COUNTS.replace(old, new), f"tfreps_counts.json: `.*got {re.escape(got)}. Export the")
            for old, new, got in (
                ('"words"', "[]", "[]"),
                ("5", '"5"', "'5'"),
                ("5", "0", "0"),
                ("5", "1.5", "1.5"),
                ("5", "true", "True"),
                ("0", "null", "None"),
                ("0", "-1", "-1"),
                ("true", "1", "1"),
            )
        ),
        ("{}", "the keys added_per_text, attends, most_per_text, tokens; got none"),
        ("[]", "expected a JSON object"),
        ("{", "Expecting"),
    ):
        (extra / "tfreps_counts.json").write_text(content)
        with pytest.raises(ValueError, match=words):
            RequestCounter.of_folder(tmp_path)
    (extra / "tfreps_counts.json").write_text(COUNTS)
    counter = RequestCounter.of_folder(tmp_path)
    assert (counter.tokens, counter.most_per_text) == ("words", 5)
