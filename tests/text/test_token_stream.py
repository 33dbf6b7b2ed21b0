"""Text in parts has the tokens of the whole text, in the same positions."""

import numpy as np
import pytest

from tests import tiny_bert
from tfreps._src.text.token_stream import TokenStream
from tfreps._src.text.tokenizers import TOKENIZERS
from tfreps.text import CharacterTokenizer, tokenize

SPECIALS = CharacterTokenizer.SPECIAL_TOKENS
METHODS = {
    **dict.fromkeys(TOKENIZERS),
    "wordpiece": tiny_bert.pieces("a", "中"),
    "character": CharacterTokenizer(SPECIALS),
}
# Letters, numerals, marks, punctuation, characters that BERT drops, emoji, and all kinds of white
# space; U+088F is a letter only since Unicode 16.
CHARACTERS = (
    "aaabBz_09.,..:;-'’\"“(!$%&/\u0301\u0300\u0308中文か한é\x00\x01\u200b\u200d\ufe0f👩❤🏽🇩🇪\ufffd\xad"
    "\u088f\u0130\u212a≠  \n\t\r\x0b\x0c\x1c\x85\xa0\u2028\u3000"
)
WORDS = "the end. Mr. U.N. p.m. didn't dogs' 'hello 10,000 a: $3.50 \"Foo (bar). ... .) --".split()


def text_of(rng):
    if rng.random() < 0.5:
        return "".join(rng.choice([*CHARACTERS], rng.integers(0, 40)))
    return "".join(word + rng.choice([" ", "  ", "\r\n", ""]) for word in rng.choice(WORDS, 12))


def check(method, rng):
    text = text_of(rng)
    cuts = sorted(rng.integers(0, len(text) + 1, rng.integers(0, 12)))
    so_far = tokenize([text[:cut] for cut in [*cuts, len(text)]], method)
    stream, final = TokenStream(method), []
    for start, cut, tokens in zip([0, *cuts], cuts, so_far, strict=False):
        new, rest = stream.append(text[start:cut])
        final += new
        assert [token.token for token in final + rest] == tokens, text
    new, rest = stream.append(text[cuts[-1] if cuts else 0 :])
    final += [*new, *stream.close()]
    assert [token.token for token in final] == so_far[-1], text
    check_places(final, text)


def check_places(tokens, text):
    end = 0
    for token in tokens:
        assert end <= token.start < token.end and token.source == text[end : token.end]
        end = token.end
        source = text[token.start : token.end]
        source = "▁" if token.token == "▁" and source.isspace() else source
        kept = iter(source)
        assert all(character in kept for character in token.token)  # in this order
        assert (source[0], source[-1]) == (token.token[0], token.token[-1])


@pytest.mark.few(1)
@pytest.mark.parametrize("name", METHODS)
def test_a_few_texts_in_pieces(name):
    rng = np.random.default_rng(0)
    for _ in range(4):
        check(METHODS[name] or name, rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_many_texts_in_pieces(name):
    rng = np.random.default_rng(1)
    for _ in range(150):
        check(METHODS[name] or name, rng)


@pytest.mark.parametrize(
    "name, text, held",
    [
        ("spaces", "a bc", "bc"),
        ("characters", "a bc", ""),
        ("all_characters", "a b ", ""),
        ("words", "a bc", "bc"),
        ("words", "a b-", "-"),
        ("words", "a b. ", ""),
        ("words", "a 👩\u200d", "👩\u200d"),
        ("treebank", "a bc. D", "bc. D"),
        ("treebank", "a bc. ", "bc. "),
        ("wordpiece", "a b-c", "b-c"),
        ("wordpiece", "a b中", ""),
        ("character", "a 3.", "3."),
        ("character", "中3", "3"),
    ],
)
def test_the_text_that_is_held_back(name, text, held):
    method = METHODS[name] or name
    new, rest = TokenStream(method).append(text)
    assert [token.token for token in new + rest] == tokenize([text], method)[0]
    assert [token.token for token in rest] == tokenize([held], method)[0]


def test_an_unknown_method():
    with pytest.raises(ValueError, match="`method` must be one of 'spaces', .*; got 'word'"):
        TokenStream("word")
