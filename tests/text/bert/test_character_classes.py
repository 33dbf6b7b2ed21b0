"""Classes and replacements of all characters equal those of the package `tokenizers`."""

import functools
import re
import unicodedata

import pytest
import tensorflow as tf
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from tfreps._src.text.bert import character_classes
from tfreps._src.text.bert.character_classes import CHINESE, python_class, re2_class, token_pattern


@functools.cache
def all_characters():
    return [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def members(ranges):
    return {chr(c) for first, last in ranges for c in range(first, last + 1)}


def normalized(**switches):
    off = dict.fromkeys(["clean_text", "handle_chinese_chars", "strip_accents", "lowercase"], False)
    normalizer = BertNormalizer(**{**off, **switches})
    return {c: normalizer.normalize_str(c) for c in all_characters()}


@pytest.mark.slow
def test_classes_are_those_of_the_library_tokenizers():
    cleaned = normalized(clean_text=True)
    assert members(character_classes.controls()) == {c for c in all_characters() if not cleaned[c]}
    assert members(character_classes.spaces()) == {c for c in all_characters() if cleaned[c] == " "}
    assert members(character_classes.white_space()) == {c for c in all_characters() if c.isspace()}
    apart = normalized(handle_chinese_chars=True)
    assert members(CHINESE) == {c for c in all_characters() if apart[c] != c}
    split = BertPreTokenizer().pre_tokenize_str
    marks = {c for c in all_characters() if len(split(f"a{c}a")) == 3}
    assert members(character_classes.punctuation()) == marks


def test_classes_of_known_characters():
    """Unicode's own categories, for characters that every version knows."""
    codes = range(0x250)
    for ranges, categories, more in [
        (character_classes.controls(), ("Cc", "Cf"), ""),
        (character_classes.spaces(), "Z", "\t\n\r"),
        (character_classes.punctuation(), "P", "$+<=>^`|~"),
    ]:
        found = members(ranges) & set(map(chr, codes))
        named = {chr(c) for c in codes if unicodedata.category(chr(c)).startswith(categories)}
        assert found == (named - set("\t\n\r")) | set(more)


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("strip", [True, False])
def test_replacements_are_those_of_the_library_tokenizers(lowercase, strip):
    expected = normalized(lowercase=lowercase, strip_accents=strip)
    found = character_classes.replacements(lowercase, strip)
    assert found == {c: new for c, new in expected.items() if new != c}


@pytest.mark.slow
def test_one_class_in_two_kinds_of_regular_expressions():
    ranges = (*CHINESE, (0x21, 0x2F), (0x5B, 0x60), (0xFFFD, 0xFFFD))
    inside = members(ranges)
    texts = [c for c in all_characters() if ord(c) % 7 == 0 or c in inside]
    python = [bool(re.fullmatch(f"[{python_class(ranges)}]", c)) for c in texts]
    graph = tf.strings.regex_full_match(texts, f"[{re2_class(ranges)}]")
    assert graph.numpy().tolist() == python
    assert python == [c in inside for c in texts]


def test_characters():
    assert character_classes.characters(((97, 99), (0x4E24, 0x4E24))) == ["a", "b", "c", "两"]


@pytest.mark.parametrize(
    "numbers, whole_words, expected",
    [
        (True, True, ["ab", "1.5", ",", "2"]),
        (False, True, ["ab", "1", ".", "5", ",", "2"]),
        (True, False, ["a", "b", "1.5", ",", "2"]),
    ],
)
def test_what_a_token_is(numbers, whole_words, expected):
    assert re.findall(token_pattern(numbers, whole_words, "."), "ab1.5,2") == expected
