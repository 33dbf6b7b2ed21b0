"""The normalizer of tensorflow-text changes characters as CharacterChanges does."""

import functools

import pytest
import tensorflow as tf

from tests.text.bert.test_wordpiece import SPECIALS
from tfreps.text import WordPieceTokenizer

pytest.importorskip("tensorflow_text")


@functools.cache
def graph_of(lowercase, **options):
    return WordPieceTokenizer([*SPECIALS, "a"], lowercase, **options).graph(core_ops=False)


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
def test_every_character_among_others(lowercase):
    graph = graph_of(lowercase)
    codes = *range(0xD800), *range(0xE000, 0x20100), 0x2FA1D, 0xE0041, 0x10FFFF
    texts = tf.constant([f"A{chr(code)}é{chr(code)}" for code in codes])
    same = graph.normalizer(texts) == graph.changes(texts)
    assert tf.reduce_all(same)


@pytest.mark.few(18)
@pytest.mark.parametrize(
    "text",
    [
        *("Äé \u0301x", "", "ab ½", "\ufeffAda", "a\0b", "ΟΔΟΣ ΟΔΟΣ.", "각 \u1100\u1161\u11a8"),
        *(b"a\xff", b"\xe4\xb8", b"\x80", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"),
    ],
)
@pytest.mark.parametrize("lowercase", [True, False])
def test_one_text(text, lowercase):
    graph = graph_of(lowercase)
    texts = tf.constant([text])
    assert graph.normalizer(texts) == graph.changes(texts)


def test_accents_do_not_need_the_slower_changes():
    graph = graph_of(True)
    texts = tf.constant(["Café, naïve 两!", "½", "a\x01", "x²", "\u2003", "\U00020000"])
    plain = tf.strings.regex_full_match(texts, graph.normalizer.same)
    assert plain.numpy().tolist() == [True, False, False, False, True, False]


def test_options_without_a_counterpart_use_the_changes():
    assert graph_of(True, strip_accents=False).normalizer is None
    assert graph_of(False, strip_accents=True).normalizer is None
