"""Offsets of tokens: the characters between them are those that the tokenizer drops."""

import random

import numpy as np
import pytest
import tensorflow as tf

from tfreps._src.text.token_offsets import token_offsets, tokenize_with_offsets
from tfreps._src.text.tokenizers import TOKENIZERS
from tfreps.text import CharacterTokenizer, WordPieceTokenizer, tokenize

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a"]
METHODS = {
    **{name: name for name in TOKENIZERS},
    "lowercased pieces": WordPieceTokenizer(PIECES),
    "cased pieces": WordPieceTokenizer(PIECES, lowercase=False),
    "cased pieces without accents": WordPieceTokenizer(PIECES, lowercase=False, strip_accents=True),
    "whole words": CharacterTokenizer.from_texts(["a"]),
    "cased characters": CharacterTokenizer.from_texts(["a"], lowercase=False, whole_words=False),
}
# Combining marks, emoji with joiners and modifiers, soft hyphens, zero-width, control and
# private-use characters, ligatures, characters that are replaced with others, and white space.
LETTERS = (
    "aaAeé\u0301\u0301\u0308\u0300Éßİ\u212aﬁ≠中国\u0928\u093e\u094d'\"“\u201d\u2019.,!$5 \t\n\u00a0"
    "\u3000\u2028\u200b\u200d\u00ad\ufeff\x00\x85\x1c\ufffd\ue000👩👩\u200d🚀🏽😀"
)


@pytest.mark.parametrize("name", METHODS)
def test_tokens_are_the_text_between_their_offsets(name):
    method = METHODS[name]
    rng = random.Random(0)
    texts = ["".join(rng.choices(LETTERS, k=rng.randrange(25))) for _ in range(500)]
    anywhere = () if isinstance(method, str) else method.dropped_characters[0]
    dropped = {chr(code) for first, last in anywhere for code in range(first, last + 1)}
    all_tokens, all_offsets = tokenize_with_offsets(texts, method)
    assert all_tokens == tokenize(texts, method) and sum(map(len, all_tokens)) > 1000
    for text, tokens, offsets in zip(texts, all_tokens, all_offsets, strict=True):
        before = 0
        for token, (start, end) in zip(tokens, offsets, strict=True):
            assert before <= start < end <= len(text)
            copied = "".join(c for c in text[start:end] if c not in dropped)
            if method == "all_characters" and copied.isspace():
                copied = "▁" * (end - start)
            assert copied == token and not dropped & {text[start], text[end - 1]}
            before = end


def test_offsets_of_known_texts():
    cases = {
        "lowercased pieces": (
            "  Caf\u00ade\u0301  中国\u0301!",
            [(2, 8), (10, 11), (11, 12), (13, 14)],
        ),
        "treebank": ('"Isn\'t it?"', [(0, 1), (1, 3), (3, 6), (7, 9), (9, 10), (10, 11)]),
        "words": ("e\u0301a 👩\u200d🚀👩", [(0, 3), (4, 7), (7, 8)]),
    }
    for name, (text, expected) in cases.items():
        assert tokenize_with_offsets([text], METHODS[name])[1] == [expected]


def test_a_graph_gives_the_first_tokens_of_each_text_their_offsets():
    texts = ["", "Ada  saw \u0301Rome", "\u00ad", "x"]
    method = METHODS["lowercased pieces"]

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def first_two(texts):
        return token_offsets(texts, tokenize(texts, method)[:, :2], method)

    starts, ends = first_two(tf.constant(texts))
    np.testing.assert_array_equal(starts, [[0, 0], [0, 5], [0, 0], [0, 0]])
    np.testing.assert_array_equal(ends, [[0, 0], [3, 8], [0, 0], [1, 0]])
    assert first_two(tf.constant(["", "\u200b"]))[0].shape == (2, 0)
