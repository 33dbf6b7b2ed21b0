"""All characters compared with Python's Unicode data."""

import re
import unicodedata

import pytest
import tensorflow as tf

from tfreps._src.text.bert import character_classes
from tfreps._src.text.bert.character_classes import CHINESE, python_class, re2_class, token_pattern

CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def members(ranges):
    return {chr(c) for first, last in ranges for c in range(first, last + 1)}


def of(*categories):
    return {c for c in CHARACTERS if unicodedata.category(c).startswith(categories)}


def test_classes():
    kept = set("\t\n\r")
    assert members(character_classes.controls()) == of("Cc", "Cf", "Co") - kept | {"\ufffd"}
    assert members(character_classes.spaces()) == of("Z") | kept
    assert members(character_classes.white_space()) == {c for c in CHARACTERS if c.isspace()}
    assert members(character_classes.punctuation()) == of("P") | set("$+<=>^`|~")


@pytest.mark.slow
def test_replacements_are_those_of_each_character():
    for lowercase, strip in ((True, True), (True, False), (False, True), (False, False)):
        found = character_classes.replacements(lowercase, strip)
        for c in CHARACTERS:
            new = unicodedata.normalize("NFD", c) if strip else c
            if strip:
                new = "".join(x for x in new if unicodedata.category(x) != "Mn")
            if lowercase:
                new = "".join(x.lower() for x in new)
            assert found.get(c, c) == new
        assert all(old != new for old, new in found.items())


@pytest.mark.slow
def test_one_class_in_two_kinds_of_regular_expressions():
    ranges = (*CHINESE, (0x21, 0x2F), (0x5B, 0x60), (0xFFFD, 0xFFFD))
    inside = members(ranges)
    texts = [c for c in CHARACTERS if ord(c) % 7 == 0 or c in inside]
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
