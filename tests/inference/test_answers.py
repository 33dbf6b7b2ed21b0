"""Answers are Python objects with a readable `repr`."""

import numpy as np

from tfreps._src.inference.answers import (
    ClassifiedText,
    TaggedText,
    TextSpan,
    TextVectors,
    token_places,
)

TOKENS = ["Ada", "Lovelace", "'", "s", "London"]
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC"]
SHARES = [0.91, 0.87654321, 1.0, 1.0, 0.5]


def test_spans_are_parts_of_the_raw_text():
    raw = "Ada  Lovelace's London"
    assert TaggedText(TOKENS, TAGS, SHARES, "bio", raw).spans == [
        TextSpan("PER", 0, 2, "Ada  Lovelace", 0.87654321),
        TextSpan("LOC", 4, 5, "London", 0.5),
    ]
    assert TaggedText(TOKENS, TAGS, SHARES, "bio").spans[0].text == "Ada Lovelace"
    # Tokens that do not occur in the text are joined with spaces.
    assert TaggedText(TOKENS, TAGS, SHARES, "bio", "ada lovelace").spans[0].text == "Ada Lovelace"
    assert TaggedText(TOKENS, TAGS, SHARES).spans == []


def test_reprs_round_probabilities():
    assert repr(TaggedText(["a"], ["X"], [0.123456])) == (
        "TaggedText(tokens=['a'], tags=['X'], confidences=[0.1235])"
    )
    assert repr(TaggedText(TOKENS, TAGS, SHARES, "bio")).endswith(
        "spans=[TextSpan(type='PER', start=0, end=2, text='Ada Lovelace', confidence=0.8765), "
        "TextSpan(type='LOC', start=4, end=5, text='London', confidence=0.5)])"
    )
    answer = ClassifiedText("good", {"bad": 0.11920292, "good": 0.88079708})
    assert repr(answer) == (
        "ClassifiedText(label='good', probabilities={'bad': 0.1192, 'good': 0.8808})"
    )
    assert answer.confidence == 0.88079708 and answer._replace(label="bad").confidence < 0.12


def test_vectors_are_shown_by_their_shapes():
    vectors = np.zeros([2, 4], "float32")
    assert repr(TextVectors(["a", "b"], vectors)) == (
        "TextVectors(tokens=['a', 'b'], vectors=float32 [2, 4])"
    )
    assert repr(TextVectors(["a", "b"], vectors, vectors[0])).endswith(", pooled=float32 [4])")


def test_places_of_tokens():
    assert token_places("a a, b", ["a", "a", ",", "b"]) == [(0, 1), (2, 3), (3, 4), (5, 6)]
    assert token_places("", []) == [] and token_places("a b", ["b", "a"]) is None
