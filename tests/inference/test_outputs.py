"""Outputs have a short `repr` and convert to dicts, JSON and data frames."""

import json

import numpy as np
import pytest

from tfreps.inference import ClassifiedText, TaggedText, TextAttention, TextSpan, TextVectors

TOKENS = ["Ada", "Lovelace", "'", "s", "London"]
TAGS = ["B-PER", "I-PER", "O", "O", "B-LOC"]
SHARES = [0.91, 0.87654321, 1.0, 1.0, 0.5]


SPANS = [
    TextSpan("PER", 0, 2, "Ada  Lovelace", 0.87654321, 0, 13),
    TextSpan("LOC", 4, 5, "London", 0.5, 16, 22),
]
IN_TOKENS = [TextSpan("PER", 0, 2, "Ada Lovelace", 0.8765), TextSpan("LOC", 4, 5, "London", 0.5)]


def test_texts_without_spans():
    assert TaggedText(TOKENS, TAGS, SHARES).spans == []


def test_reprs_round_probabilities():
    assert repr(TaggedText(["a"], ["X"], [0.123456])) == (
        "TaggedText(tokens=['a'], tags=['X'], confidences=[0.1235])"
    )
    assert repr(SPANS[1]) == (
        "TextSpan(type='LOC', start=4, end=5, text='London', confidence=0.5, start_char=16, "
        "end_char=22)"
    )
    assert repr(TaggedText(TOKENS, TAGS, SHARES, "bio", spans=IN_TOKENS)).endswith(
        "spans=[TextSpan(type='PER', start=0, end=2, text='Ada Lovelace', confidence=0.8765), "
        "TextSpan(type='LOC', start=4, end=5, text='London', confidence=0.5)])"
    )
    output = ClassifiedText("good", {"bad": 0.11920292, "good": 0.88079708})
    assert repr(output) == (
        "ClassifiedText(label='good', probabilities={'bad': 0.1192, 'good': 0.8808})"
    )
    assert output.confidence == 0.88079708 and output._replace(label="bad").confidence < 0.12


def test_vectors_are_shown_by_their_shapes():
    vectors = np.zeros([2, 4], "float32")
    assert repr(TextVectors(["a", "b"], vectors)) == (
        "TextVectors(tokens=['a', 'b'], vectors=float32 [2, 4])"
    )
    assert repr(TextVectors(["a", "b"], vectors, vectors[0])).endswith(", pooled=float32 [4])")


def test_long_reprs_show_the_first_elements():
    tokens = [f"t{n}" for n in range(14)]
    shown = "[" + ", ".join(f"'t{n}'" for n in range(12)) + ", ... 2 more]"
    assert repr(TextVectors(tokens, np.zeros([14, 4]))) == (
        f"TextVectors(tokens={shown}, vectors=float64 [14, 4])"
    )
    attention = TextAttention(tokens, np.zeros([2, 4, 14, 14], "float32"))
    assert repr(attention) == f"TextAttention(tokens={shown}, probabilities=float32 [2, 4, 14, 14])"
    shares = {token: 0.25 for token in tokens}
    assert repr(ClassifiedText("t0", shares)).endswith("'t11': 0.25, ... 2 more})")
    assert repr(TaggedText(["a"] * 14, ["X"] * 14, [0.5] * 14)).endswith("0.5, 0.5, ... 2 more])")


def test_a_tagged_text_converts_to_a_dict():
    spans = [
        {"type": "PER", "start": 0, "end": 2, "start_char": 0, "end_char": 13},
        {"type": "LOC", "start": 4, "end": 5, "start_char": 16, "end_char": 22},
    ]
    spans[0] |= {"text": "Ada  Lovelace", "confidence": 0.87654321}
    spans[1] |= {"text": "London", "confidence": 0.5}
    text = "Ada  Lovelace's London"
    output = TaggedText(TOKENS, TAGS, SHARES, "bio", text, SPANS).asdict()
    assert output == {
        "text": text,
        "tokens": TOKENS,
        "tags": TAGS,
        "confidences": SHARES,
        "spans": spans,
    }
    assert list(output) == ["text", "tokens", "tags", "confidences", "spans"]
    output = TaggedText(TOKENS, TAGS, SHARES, "bio", spans=IN_TOKENS).asdict(digits=2)
    assert output["confidences"] == [0.91, 0.88, 1.0, 1.0, 0.5] and "text" not in output
    assert output["spans"][0]["confidence"] == 0.88
    assert output["spans"][0]["start_char"] is output["spans"][0]["end_char"] is None
    assert "spans" not in TaggedText(TOKENS, TAGS, SHARES).asdict()


def test_a_classified_text_converts_to_a_dict():
    shares = {"bad": 0.11920292, "good": 0.88079708}
    output = ClassifiedText("good", shares, "so good").asdict()
    assert output == {
        "text": "so good",
        "label": "good",
        "confidence": 0.88079708,
        "probabilities": shares,
    }
    assert ClassifiedText("bad", shares).asdict(digits=1) == {
        "label": "bad",
        "confidence": 0.1,
        "probabilities": {"bad": 0.1, "good": 0.9},
    }


def test_arrays_convert_to_lists():
    vectors = np.array([[0.5, 1.0], [2.0, -1.5]], "float32")
    assert TextVectors(["a", "b"], vectors, vectors[0]).asdict() == {
        "tokens": ["a", "b"],
        "vectors": [[0.5, 1.0], [2.0, -1.5]],
        "pooled": [0.5, 1.0],
    }
    assert list(TextVectors(["a", "b"], vectors).asdict()) == ["tokens", "vectors"]
    attention = TextAttention(["a"], np.ones([1, 1, 1, 1], "float32"))
    assert attention.asdict() == {"tokens": ["a"], "probabilities": [[[[1.0]]]]}


def test_dicts_are_json_also_with_numpy_scalars():
    share = np.float32(0.5)
    outputs = [
        TaggedText(["Ada"], ["B-PER"], [share], "bio", "Ada"),
        ClassifiedText("good", {"bad": share, "good": share}, "Ada"),
        TextSpan("PER", 0, 1, "Ada", share),
        TextVectors(["Ada"], np.ones([2, 1, 1], "float32")),
        TextAttention(["Ada"], np.ones([1, 1, 1, 1], "float32")),
    ]
    for output in outputs:
        assert json.loads(json.dumps(output.asdict())) == output.asdict()


def test_dicts_make_a_data_frame():
    pandas = pytest.importorskip("pandas")
    shares = {"bad": 0.25, "good": 0.75}
    outputs = [ClassifiedText("good", shares, "fine"), ClassifiedText("bad", shares, "sad")]
    frame = pandas.DataFrame([output.asdict() for output in outputs])
    assert list(frame) == ["text", "label", "confidence", "probabilities"]
    assert frame["label"].tolist() == ["good", "bad"] and frame["confidence"].mean() == 0.5
    frame = pandas.DataFrame([span.asdict() for span in SPANS])
    assert frame["type"].tolist() == ["PER", "LOC"]
    assert list(frame) == [
        *("type", "start", "end", "start_char", "end_char", "text", "confidence")
    ]
