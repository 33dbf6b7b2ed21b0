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
        "span_confidences": np.array([[0.125], [0]], np.float32),
        "num_spans": np.array([1, 0]),
    }
    characters = {
        "span_start_chars": np.array([[1], [0]]),
        "span_end_chars": np.array([[8], [0]]),
    }
    names = ["tokens:T", "tags:T", "confidences:T", "spans"]
    first, second = signature_rows({**outputs, **characters}, names, [" Ada  Lé", ""])
    assert first["tokens"] == ["Ada", "Lé"] and first["tags"] == ["B-PER", "I-PER"]
    assert first["confidences"].tolist() == [0.5, 0.25]
    span = {"type": "PER", "start": 0, "end": 2, "tokens": ["Ada", "Lé"]}
    in_text = {**span, "start_char": 1, "end_char": 8, "text": "Ada  Lé", "confidence": 0.125}
    assert first["spans"] == [in_text]
    in_tokens = {**span, "start_char": None, "end_char": None, "text": "Ada Lé"}
    [by_tokens, _] = signature_rows(outputs, names, [["Ada", "Lé"], []])
    assert by_tokens["spans"] == [{**in_tokens, "confidence": 0.125}]
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
