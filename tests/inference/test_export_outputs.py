"""Outputs of a signature become one dict per text."""

import numpy as np

from tfreps._src.inference.export_outputs import signature_rows


def strings(*rows):
    return np.array(rows, object)


def test_rows_of_a_tagger():
    outputs = {
        "tokens": strings([b"Ada", b"L\xc3\xa9", b""], [b"", b"", b""]),
        "tags": strings([b"B-PER", b"I-PER", b""], [b"", b"", b""]),
        "confidences": np.array([[0.5, 0.25, 0], [0, 0, 0]], np.float32),
        "sequence_len": np.array([2, 0], np.int32),
        "span_types": strings([b"PER"], [b""]),
        "span_starts": np.array([[0], [0]]),
        "span_ends": np.array([[2], [0]]),
        "num_spans": np.array([1, 0]),
    }
    names = ["tokens:T", "tags:T", "confidences:T", "spans"]
    first, second = signature_rows(outputs, names, ["Ada  Lé", ""])
    assert first["tokens"] == ["Ada", "Lé"] and first["tags"] == ["B-PER", "I-PER"]
    assert first["confidences"].tolist() == [0.5, 0.25]
    span = {"type": "PER", "start": 0, "end": 2, "tokens": ["Ada", "Lé"], "confidence": 0.25}
    assert first["spans"] == [{**span, "text": "Ada  Lé"}]
    for text in ("ada  lé", ["Ada", "Lé"]):
        assert signature_rows(outputs, names, [text, ""])[0]["spans"] == [
            {**span, "text": "Ada Lé"}
        ]
    assert second["tokens"] == second["tags"] == second["spans"] == []
    assert second["confidences"].shape == (0,)


def test_rows_of_a_classifier_and_of_vectors():
    outputs = {
        "label": strings(b"good", b"bad"),
        "probability": np.array([0.75, 0.5], np.float32),
        "labels": strings([b"bad", b"good"], [b"bad", b"good"]),
        "elmo": np.arange(12, dtype=np.float32).reshape(2, 3, 2),
        "sequence_len": np.array([1, 3]),
    }
    first, second = signature_rows(outputs, ["label", "probability", "labels", "elmo:T"])
    assert (first["label"], first["probability"]) == ("good", 0.75)
    assert type(first["probability"]) is float and first["labels"] == ["bad", "good"]
    assert first["elmo"].tolist() == [[0, 1]]
    assert second["elmo"].tolist() == [[6, 7], [8, 9], [10, 11]]


def test_a_span_whose_text_repeats():
    text, tokens = "in New  York , the New York", "in New York , the New York".split()
    outputs = {
        "tokens": strings([token.encode() for token in tokens]),
        "span_types": strings([b"LOC", b"LOC", b""]),
        "span_starts": np.array([[1, 5, 0]]),
        "span_ends": np.array([[3, 7, 0]]),
        "num_spans": np.array([2]),
        "confidences": np.array([[1, 0.75, 0.5, 1, 1, 0.25, 0.5]], "float32"),
    }
    [row] = signature_rows(outputs, ["spans"], [text])
    assert [(span["text"], span["confidence"]) for span in row["spans"]] == [
        ("New  York", 0.5),
        ("New York", 0.25),
    ]
    [row] = signature_rows(outputs, ["spans"], [text.lower()])
    assert [span["text"] for span in row["spans"]] == ["New York"] * 2
