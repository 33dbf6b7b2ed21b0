"""Tokens of characters as one pattern, with and without numbers and words."""

import re
import types

import pytest

from tfreps.text.bert.character_rules import token_pattern


@pytest.mark.parametrize(
    "numbers, whole_words, expected",
    [
        (True, True, ["ab", "1.5", ",", "2"]),
        (False, True, ["ab", "1", ".", "5", ",", "2"]),
        (True, False, ["a", "b", "1.5", ",", "2"]),
    ],
)
def test_what_a_token_is(numbers, whole_words, expected):
    tokenizer = types.SimpleNamespace(numbers=numbers, whole_words=whole_words)
    assert re.findall(token_pattern(tokenizer, "."), "ab1.5,2") == expected
